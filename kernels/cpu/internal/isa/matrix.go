package isa

import "sync/atomic"

// matrices is every feature that works on the matrix registers.
const matrices = AMXTile | AMXInt8 | AMXBF16

// What is known of the permission to use the matrix registers.
const (
	unasked = iota
	granted
	refused
)

var (
	permission atomic.Int32
	denied     atomic.Uint32 // features that the processor has and the operating system does not give
)

// MatrixRegisters reports whether this process may use the matrix registers of the features that are active. It asks
// the operating system where nobody has: once, and not before a kernel wants them, because a process that has them
// needs larger stacks for signals in all of its threads. Where they are refused, as happens on Linux before 5.16 and
// where a thread of other code has a small stack for signals, the features are gone from then on.
func MatrixRegisters() bool {
	if !Active().Has(AMXTile) {
		return false
	}
	if permission.Load() == unasked {
		askOnce(askForMatrixRegisters)
	}
	return permission.Load() == granted
}

// findSlow is detectSlow, except in tests.
var findSlow = detectSlow

// slowOf tells which of the features take longer than what kernels without them do. Intel's processors since Sapphire
// Rapids, which all have AVX512_FP16, leave pairs of bfloat16 to AMX: VDPBF16PS takes at least four times as long there
// as VFMADD231PS, for twice the products. That is known from the processor and not measured, because the bits of
// results depend on it. With AMX the few products that are not for it still go in pairs.
func slowOf(intel bool, have Features) Features {
	if intel && have.Has(AVX512FP16) && !have.Has(AMXBF16) {
		return have & AVX512BF16
	}
	return 0
}

// askOnce asks and keeps the answer; goroutines that ask at the same time get the same one.
func askOnce(ask func() bool) {
	if named(assumed).Has(AMXTile) || ask() {
		permission.Store(granted)
		return
	}
	without := matrices | findSlow(detected&^matrices)
	denied.Store(uint32(without))
	for {
		now := active.Load()
		if active.CompareAndSwap(now, now&^uint32(without)) {
			break
		}
	}
	permission.Store(refused)
}
