package vector

// Scalars, and the order of things.

// Parameter returns a parameter of the function.
func Parameter(name string) Scalar {
	s := NewScalar()
	Reload(s, name)
	return s
}

// Reload sets dst to a parameter.
func Reload(dst Scalar, name string) { recordLabel(opParameter, name, dst) }

// Return makes the first element of v the function's result. The function goes on: see End.
func Return(v Vector) { record(opReturn, v) }

// Assign is dst = v. Of dst and v one may be in memory; v may be a number.
func Assign(dst, v Operand) { record(opAssign, dst, v) }

// Clear is dst = 0.
func Clear(dst Scalar) { record(opClear, dst) }

// Increase is dst += by. Of dst and by one may be in memory; by may be a number.
func Increase(dst, by Operand) { record(opIncrease, dst, by) }

// Decrease is dst −= by.
func Decrease(dst, by Operand) { record(opDecrease, dst, by) }

// Intersect keeps the bits of dst that v has.
func Intersect(dst Scalar, v Operand) { record(opIntersect, dst, v) }

// Unite sets the bits of dst that v has.
func Unite(dst, v Scalar) { record(opUnite, dst, v) }

// AtMost lowers dst to the limit, with signs.
func AtMost(dst Scalar, limit Operand) { record(opAtMost, dst, limit) }

// Address sets dst to the address of a place.
func Address(dst Scalar, of Memory) { record(opAddress, dst, of) }

// Prefetch asks for a line of memory in the second-level cache.
func Prefetch(at Memory) { record(opPrefetch, at) }

// PrefetchNear asks for a line of memory in the first-level cache.
func PrefetchNear(at Memory) { record(opPrefetchNear, at) }

// Label names a place in the function.
func Label(name string) { recordLabel(opLabel, name) }

// Jump goes to a label.
func Jump(label string) { recordLabel(opJump, label) }

// JumpBelow goes to a label if a < b, without signs.
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

// JumpAtLeast goes to a label if a ≥ b, without signs.
func JumpAtLeast(a Scalar, b Operand, label string) { recordLabel(opJumpAtLeast, label, a, b) }

// Countdown subtracts by from n and goes to a label unless 0 is left.
func Countdown(n Operand, by int, label string) { recordLabel(opCountdown, label, n, Number(by)) }

// CountedOut subtracts by from n and goes to a label if 0 is left.
func CountedOut(n Operand, by int, label string) { recordLabel(opCountedOut, label, n, Number(by)) }

// End returns to the caller.
func End() { record(opEnd) }
