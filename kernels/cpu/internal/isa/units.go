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

// HalfUnits reports whether the processor says that it computes vectors of 512 bits by halves (AMD's until Zen 4; the
// identifiers of what is optimal, leaf 8000001A of CPUID): there vectors of 256 bits, where they are as good, take half
// the time. Results do not depend on it.
func HalfUnits() bool { return halfUnits.Load() }

// OverrideHalfUnits changes what [HalfUnits] reports, and returns a function that undoes it. It is for tests and
// benchmarks.
func OverrideHalfUnits(on bool) (restore func()) {
	previous := halfUnits.Swap(on)
	return func() { halfUnits.Store(previous) }
}

// StorePages is how many pages of 4 KiB the processor says that it finds at once for stores, in its first translation
// buffer (AMD's, which is the one of loads: leaf 80000005 of CPUID), or 0 if it does not say so, as Intel's, some of
// which find 16. Results do not depend on it.
func StorePages() int { return int(storePages.Load()) }

// OverrideStorePages changes what [StorePages] returns, and returns a function that undoes it. It is for tests and
// benchmarks.
func OverrideStorePages(n int) (restore func()) {
	previous := storePages.Swap(int32(n))
	return func() { storePages.Store(previous) }
}

// NearCache reports whether the processor says that few cores share its third-level cache (AMD's core complexes; leaf
// 8000001D of CPUID): it is read at half the rate of the second level, by the processor's own fetching ahead. Results
// do not depend on it.
func NearCache() bool { return nearCache.Load() }

// OverrideNearCache changes what [NearCache] reports, and returns a function that undoes it. It is for tests and
// benchmarks.
func OverrideNearCache(on bool) (restore func()) {
	previous := nearCache.Swap(on)
	return func() { nearCache.Store(previous) }
}
