package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Select returns, for each element, the choice of the first condition that holds, or otherwise if none does.
func Select(conditions, choices []*Tensor, otherwise *Tensor) *Tensor {
	if len(conditions) != len(choices) || len(choices) == 0 {
		Failf(otherwise.Graph(), "select: needs as many conditions as choices, and at least one; received %d and %d", len(conditions), len(choices))
	}
	y := otherwise
	for i := len(choices) - 1; i >= 0; i-- {
		y = Where(Cast(conditions[i], ir.Bool), choices[i], y)
	}
	return y
}

// Angle returns the angle of real numbers in the complex plane: π below 0 and for -0, 0 elsewhere, NaN for NaN.
func Angle(x *Tensor) *Tensor {
	x = float(x)
	// The sign of the bits is that of the number, even for zeros.
	negative := CompareScalar(ir.Lt, View(x, bitsOf[x.DType().Size()]), 0)
	angle := Where(StopGradient(negative), FullLike(x, math.Pi), ZerosLike(x))
	return Where(compare(ir.Ne, x, x), x, angle)
}

// Ldexp returns x · 2^n, even if 2^n is too large or too small for the type of x.
func Ldexp(x, n *Tensor) *Tensor {
	x = float(x)
	n = Cast(n, x.DType())
	half := Round(MultiplyScalar(n, 0.5))
	return Multiply(Multiply(x, Exp2(half)), Exp2(Subtract(n, half)))
}

// Argpartition returns int32 positions that put the k-th smallest element along axis in its sorted position, with the
// smaller ones before it and the larger ones after it.
func Argpartition(x *Tensor, k, axis int) *Tensor {
	if n := x.Dim(axis); dim.Known(n) && (k < -n || k >= n) {
		Failf(x.g, "argpartition: there is no element %d among the %d of axis %d", k, n, axis)
	}
	_, positions := partitioned(x, axis, k)
	return positions
}
