package ops

import "github.com/gokeras/gokeras/kernels/ir"

// BitwiseAnd returns the bits set in both a and b, integers or bools.
func BitwiseAnd(a, b *Tensor) *Tensor { return binary(ir.BitAnd, a, b) }

// BitwiseOr returns the bits set in a or b.
func BitwiseOr(a, b *Tensor) *Tensor { return binary(ir.BitOr, a, b) }

// BitwiseXor returns the bits set in exactly one of a and b.
func BitwiseXor(a, b *Tensor) *Tensor { return binary(ir.BitXor, a, b) }

// BitwiseNot returns x with all bits turned over.
func BitwiseNot(x *Tensor) *Tensor { return unary(ir.Not, x) }

// LeftShift moves the bits of a by b places up; by the width of the type or more, or by a negative number, gives 0.
func LeftShift(a, b *Tensor) *Tensor { return binary(ir.ShiftLeft, a, b) }

// RightShift moves the bits of a by b places down and fills with the sign; by the width of the type or more, or by a
// negative number, gives the sign alone.
func RightShift(a, b *Tensor) *Tensor { return binary(ir.ShiftRight, a, b) }
