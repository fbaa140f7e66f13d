package vector

// Scalars and control flow.

// Parameter returns a parameter of the function.
func Parameter(name string) Scalar {
	s := NewScalar()
	Reload(s, name)
	return s
}

// Reload sets dst to a parameter again.
func Reload(dst Scalar, name string) { recordLabel(opParameter, name, dst) }

// Return makes the first element of v the function's result. It does not end the function: see End.
func Return(v Vector) { record(opReturn, v) }

// Assign is dst = v. One of dst and v may be in memory; v may be a number.
func Assign(dst, v Operand) { record(opAssign, dst, v) }

// Clear is dst = 0.
func Clear(dst Scalar) { record(opClear, dst) }

// Increase is dst += by. One of dst and by may be in memory; by may be a number.
func Increase(dst, by Operand) { record(opIncrease, dst, by) }

// Decrease is dst −= by.
func Decrease(dst, by Operand) { record(opDecrease, dst, by) }

// Intersect is dst &= v.
func Intersect(dst Scalar, v Operand) { record(opIntersect, dst, v) }

// Unite is dst |= v.
func Unite(dst, v Scalar) { record(opUnite, dst, v) }

// AtMost is dst = min(dst, limit), signed.
func AtMost(dst Scalar, limit Operand) { record(opAtMost, dst, limit) }

// Address sets dst to a memory address.
func Address(dst Scalar, of Memory) { record(opAddress, dst, of) }

// Prefetch prefetches a cache line into the second-level cache.
func Prefetch(at Memory) { record(opPrefetch, at) }

// PrefetchNear prefetches a cache line into the first-level cache.
func PrefetchNear(at Memory) { record(opPrefetchNear, at) }

// Label defines a label.
func Label(name string) { recordLabel(opLabel, name) }

// Jump goes to a label.
func Jump(label string) { recordLabel(opJump, label) }

// JumpBelow goes to a label if a < b, unsigned.
func JumpBelow(a Scalar, b Operand, label string) { recordLabel(opJumpBelow, label, a, b) }

// JumpEqual goes to a label if a = b.
func JumpEqual(a, b Operand, label string) { recordLabel(opJumpEqual, label, a, b) }

// JumpNotEqual goes to a label if a ≠ b.
func JumpNotEqual(a, b Operand, label string) { recordLabel(opJumpNotEqual, label, a, b) }

// JumpZero goes to a label if a is 0.
func JumpZero(a Scalar, label string) { recordLabel(opJumpZero, label, a) }

// JumpIf goes to a label if a has any of the bits.
func JumpIf(a Operand, bits int, label string) { recordLabel(opJumpIf, label, a, Number(bits)) }

// JumpUnless goes to a label if a has none of the bits.
func JumpUnless(a Operand, bits int, label string) { recordLabel(opJumpUnless, label, a, Number(bits)) }

// JumpAtLeast goes to a label if a ≥ b, unsigned.
func JumpAtLeast(a Scalar, b Operand, label string) { recordLabel(opJumpAtLeast, label, a, b) }

// Countdown subtracts by from n and goes to a label unless the result is 0.
func Countdown(n Operand, by int, label string) { recordLabel(opCountdown, label, n, Number(by)) }

// CountedOut subtracts by from n and goes to a label if the result is 0.
func CountedOut(n Operand, by int, label string) { recordLabel(opCountedOut, label, n, Number(by)) }

// End returns to the caller.
func End() { record(opEnd) }
