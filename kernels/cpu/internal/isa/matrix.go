package isa

import "sync/atomic"

// matrices is the set of features that use the matrix registers.
const matrices = AMXTile | AMXInt8 | AMXBF16

// What is known of the permission to use the matrix registers.
const (
	unasked = iota
	granted
	refused
)

var (
	permission atomic.Int32
	denied     atomic.Uint32 // features that the processor has but the operating system refuses
)

// MatrixRegisters reports whether this process may use the matrix registers, if their features are active. It asks the
// operating system once, and only when a kernel first needs them, because a process that has them needs larger signal
// stacks in all of its threads. If the system refuses them, the features are gone from then on. That happens on Linux
// before 5.16, and if a thread of other code has a small signal stack.
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

// slowFeatures returns the features whose kernels are slower than those without them. Intel's processors since Sapphire
// Rapids, which all have AVX512_FP16, leave pairs of bfloat16 to AMX: there, VDPBF16PS takes at least four times as
// long as VFMADD231PS, for twice the products. The rule goes by the processor and not by a measurement, because the
// bits of results depend on it. With AMX, the few products that cannot use it still go in pairs.
func slowFeatures(intel bool, have Features) Features {
	if intel && have.Has(AVX512FP16) && !have.Has(AMXBF16) {
		return have & AVX512BF16
	}
	return 0
}

// askOnce asks once and keeps the answer; goroutines that ask at the same time get the same one.
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
