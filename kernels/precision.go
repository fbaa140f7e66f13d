package kernels

import "sync/atomic"

var tf32 atomic.Bool

// AllowTF32 says whether programs that are compiled from now on may multiply matrices of float32 as TF32, where their
// device can: with 10 bits of each factor's mantissa, and sums in float32. By default they may not.
func AllowTF32(on bool) { tf32.Store(on) }

// AllowsTF32 reports what [AllowTF32] said last.
func AllowsTF32() bool { return tf32.Load() }
