package kernels

import "sync/atomic"

var tf32 atomic.Bool

// AllowTF32 says whether programs that are compiled from now on may multiply float32 matrices as TF32, if their device
// supports it: with 10 mantissa bits in each factor, and sums in float32. By default they may not.
func AllowTF32(on bool) { tf32.Store(on) }

// AllowsTF32 reports what [AllowTF32] said last.
func AllowsTF32() bool { return tf32.Load() }
