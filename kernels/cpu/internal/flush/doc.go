// Package flush switches a thread's arithmetic to flush denormal numbers to zero, and back.
//
// On many processors, an operation on numbers below 2⁻¹²⁶ in float32 (2⁻¹⁰²² in float64) costs some hundred cycles.
// Such numbers occur by themselves: Adam's moments of units that no longer learn decay into them. Programs therefore
// run in a mode in which arithmetic treats denormal operands as zeros of the same sign (DAZ) and stores zeros for
// denormal results (FTZ). On amd64 it is set in MXCSR, on arm64 in FPCR. It applies to all scalar and vector
// instructions on floats, both in assembly and in compiled Go, so results do not depend on which of them computes a
// value. Moves, negation, absolute values and functions that return small operands unchanged do no arithmetic: they
// keep denormals, which the next operation treats as zeros. On other processors nothing is switched: their kernels are
// plain Go, and denormals are kept.
//
// The mode belongs to the thread, and Go's scheduler neither saves nor restores it. Code that leaves [Default] must
// therefore keep its goroutine on its thread from before the change until the mode is restored, as a [Section] does:
//
//	section := flush.EnterZero()
//	defer section.Leave()
//
// A locked thread runs no other goroutine. Nor does the runtime create new threads from locked ones, which would
// inherit their mode.
package flush
