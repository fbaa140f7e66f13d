package ops

import "github.com/gokeras/gokeras/kernels/ir"

// BitwiseAnd returns the bits set in both a and b, integers or bools.
func BitwiseAnd(a, b *Tensor) *Tensor { return binary(ir.BitAnd, a, b) }

// BitwiseOr returns the bits set in a or b.
func BitwiseOr(a, b *Tensor) *Tensor { return binary(ir.BitOr, a, b) }

// BitwiseXor returns the bits set in exactly one of a and b.
func BitwiseXor(a, b *Tensor) *Tensor { return binary(ir.BitXor, a, b) }

// BitwiseNot returns x with all bits inverted.
func BitwiseNot(x *Tensor) *Tensor { return unary(ir.Not, x) }

// LeftShift shifts the bits of a left by b places. If b is negative, or at least the width of the type, the result is
// 0.
func LeftShift(a, b *Tensor) *Tensor { return binary(ir.ShiftLeft, a, b) }

// RightShift shifts the bits of a right by b places and fills with the sign. If b is negative, or at least the width of
// the type, the result consists of sign bits.
func RightShift(a, b *Tensor) *Tensor { return binary(ir.ShiftRight, a, b) }
