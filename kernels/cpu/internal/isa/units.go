package isa

import "sync/atomic"

var (
	halfUnits, nearCache atomic.Bool
	storePages           atomic.Int32
)

func init() {
	halfUnits.Store(detectHalfUnits())
	nearCache.Store(detectNearCache())
	storePages.Store(int32(detectStorePages()))
}

// HalfUnits reports whether the processor says that it computes 512-bit vectors in halves (AMD's up to Zen 4; CPUID
// leaf 8000001A, which says what is optimal). There, 256-bit vectors take half the time, where they can do the same
// work. Results do not depend on it.
func HalfUnits() bool { return halfUnits.Load() }

// OverrideHalfUnits changes what [HalfUnits] reports, and returns a function that undoes this. It is for tests and
// benchmarks.
func OverrideHalfUnits(on bool) (restore func()) {
	previous := halfUnits.Swap(on)
	return func() { halfUnits.Store(previous) }
}

// StorePages returns how many pages of 4 KiB the first-level TLB holds for stores, according to the processor (on AMD,
// it is the one for loads: CPUID leaf 80000005). It is 0 if the processor does not say; Intel's do not, and some hold
// 16. Results do not depend on it.
func StorePages() int { return int(storePages.Load()) }

// OverrideStorePages changes what [StorePages] returns, and returns a function that undoes this. It is for tests and
// benchmarks.
func OverrideStorePages(n int) (restore func()) {
	previous := storePages.Swap(int32(n))
	return func() { storePages.Store(previous) }
}

// NearCache reports whether the processor says that few cores share its third-level cache (AMD's core complexes; CPUID
// leaf 8000001D). The processor's own prefetching reads such a cache at half the rate of the second level. Results do
// not depend on it.
func NearCache() bool { return nearCache.Load() }

// OverrideNearCache changes what [NearCache] reports, and returns a function that undoes this. It is for tests and
// benchmarks.
func OverrideNearCache(on bool) (restore func()) {
	previous := nearCache.Swap(on)
	return func() { nearCache.Store(previous) }
}
