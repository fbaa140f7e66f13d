// Package flush switches a thread's arithmetic to flush denormal numbers to zero, and back.
//
// Numbers below 2⁻¹²⁶ in float32 (2⁻¹⁰²² in float64) cost some hundred cycles each on many processors. They turn up by
// themselves: Adam's moments of units that no longer learn decay into them. So programs run in a mode in which
// arithmetic takes denormal operands as zeros of the same sign (DAZ) and stores zeros for denormal results (FTZ): MXCSR
// on amd64, FPCR on arm64. It applies to all scalar and vector instructions on floats, so to assembly and to compiled
// Go alike, and results do not depend on which of them computes a value. Moves, negation, magnitudes and functions that
// return small operands as they are do no arithmetic: they keep the bits of denormals, which the next operation takes
// for zeros. On other processors nothing is switched: their kernels are plain Go, and denormals are kept.
//
// The mode belongs to the thread, and Go's scheduler neither saves nor restores it. Whoever leaves [Default] must
// therefore keep its goroutine on its thread from before the change until the mode is back, as a [Section] does:
//
//	section := flush.EnterZero()
//	defer section.Leave()
//
// A locked thread runs no other goroutine, and the runtime makes new threads from others than locked ones, which would
// hand their mode down.
package flush
