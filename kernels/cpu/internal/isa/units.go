package isa

import "sync/atomic"

var halfUnits atomic.Bool

func init() { halfUnits.Store(detectHalfUnits()) }

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
