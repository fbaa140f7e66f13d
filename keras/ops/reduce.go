package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func reduce(kind ir.Kind, x *Tensor, axes []int) *Tensor {
	all := allAxes(x, axes)
	if len(all) == 0 {
		return x
	}
	return apply1(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: all}, x)
}

// KeepDims puts back into reduced, with length 1, the axes that a reduction of x over axes removed.
func KeepDims(reduced, x *Tensor, axes ...int) *Tensor {
	return Reshape(reduced, x.Shape().WithOnes(allAxes(x, axes)...)...)
}

// Sum adds up the elements along the given axes, which disappear; without axes, all elements.
func Sum(x *Tensor, axes ...int) *Tensor { return reduce(ir.Sum, numeric(x), axes) }

// Prod multiplies the elements along the given axes; without axes, all elements.
func Prod(x *Tensor, axes ...int) *Tensor {
	if x.DType() == ir.Bool {
		return numeric(All(x, axes...))
	}
	return reduce(ir.Prod, x, axes)
}

// Max returns the largest element along the given axes; NaN wins. Equal maxima share the gradient.
func Max(x *Tensor, axes ...int) *Tensor {
	if x.DType() == ir.Bool && !slices.Contains(x.Shape(), 0) {
		return numeric(Any(x, axes...))
	}
	return reduce(ir.Max, numeric(x), axes)
}

// Min returns the smallest element along the given axes; NaN wins. Equal minima share the gradient.
func Min(x *Tensor, axes ...int) *Tensor {
	if x.DType() == ir.Bool && !slices.Contains(x.Shape(), 0) {
		return numeric(All(x, axes...))
	}
	return reduce(ir.Min, numeric(x), axes)
}

// numeric turns bools into int32 for arithmetic.
func numeric(x *Tensor) *Tensor {
	if x.DType() == ir.Bool {
		return Cast(x, ir.Int32)
	}
	return x
}

// numericPair converts two bools to int32; a bool paired with a number takes the number's type.
func numericPair(a, b *Tensor) (*Tensor, *Tensor) {
	if a.DType() == ir.Bool && b.DType() == ir.Bool {
		return numeric(a), numeric(b)
	}
	return a, b
}

// Mean returns the average along the given axes, or of all elements without axes; that of an empty axis is NaN. Half
// precision is computed in float32, because sums would overflow.
func Mean(x *Tensor, axes ...int) *Tensor {
	x = float(x)
	if d := x.DType(); d.IsHalf() {
		return Cast(Mean(Cast(x, ir.Float32), axes...), d)
	}
	n := 1
	for _, a := range allAxes(x, axes) {
		n = dim.Mul(n, x.Shape()[a])
	}
	return DivideByLength(Sum(x, axes...), n)
}

// Variance returns the biased variance (divided by the count) along the given axes.
func Variance(x *Tensor, axes ...int) *Tensor {
	x = float(x)
	if d := x.DType(); d.IsHalf() {
		return Cast(Variance(Cast(x, ir.Float32), axes...), d)
	}
	centered := Subtract(x, KeepDims(Mean(x, axes...), x, axes...))
	return Mean(Square(centered), axes...)
}

// Std returns the biased standard deviation along the given axes.
func Std(x *Tensor, axes ...int) *Tensor { return Sqrt(Variance(x, axes...)) }

// All returns whether all elements along the given axes are true.
func All(x *Tensor, axes ...int) *Tensor { return reduce(ir.And, Cast(x, ir.Bool), axes) }

// Any returns whether any element along the given axes is true.
func Any(x *Tensor, axes ...int) *Tensor { return reduce(ir.Or, Cast(x, ir.Bool), axes) }

// Argmax returns the int32 position of the first largest element along axis, which disappears.
func Argmax(x *Tensor, axis int) *Tensor {
	return apply1(ir.ArgMax, ir.AxisAttrs{Axis: x.Axis(axis)}, numeric(x))
}

// Argmin returns the int32 position of the first smallest element along axis, which disappears.
func Argmin(x *Tensor, axis int) *Tensor {
	return apply1(ir.ArgMin, ir.AxisAttrs{Axis: x.Axis(axis)}, numeric(x))
}

// Logsumexp returns ln(sum(exp(x))) along the given axes without overflow.
func Logsumexp(x *Tensor, axes ...int) *Tensor {
	x = float(x)
	top := StopGradient(Max(x, axes...))
	top = Where(Isfinite(top), top, ZerosLike(top))
	return Add(top, Log(Sum(Exp(Subtract(x, KeepDims(top, x, axes...))), axes...)))
}

// Norm returns the Euclidean length along the given axes.
func Norm(x *Tensor, axes ...int) *Tensor { return Sqrt(Sum(Square(x), axes...)) }

func init() {
	rules[ir.ArgMax], rules[ir.ArgMin] = zeroGradient, zeroGradient
	rules[ir.Reduce] = reduceRule
}

func reduceRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.ReduceAttrs)
	x, y := c.in(0), c.out(0)
	wide := func(t *Tensor) *Tensor {
		return BroadcastTo(Reshape(t, x.Shape().WithOnes(a.Axes...)...), x.Shape()...)
	}
	switch a.Kind {
	case ir.Sum:
		return []*Tensor{wide(c.dy(0))}
	case ir.Max, ir.Min:
		hit := Cast(Equal(x, wide(y)), x.DType())
		share := Divide(c.dy(0), Sum(hit, a.Axes...))
		return []*Tensor{Multiply(hit, wide(share))}
	case ir.Prod:
		if n := x.Dim(a.Axes[0]); len(a.Axes) == 1 && dim.Known(n) && n > 0 && n <= shortProduct { //dim:known
			return []*Tensor{othersGradient(x, c.dy(0), a.Axes[0], n)}
		}
		return []*Tensor{prodGradient(x, wide(c.dy(0)), wide(y), a.Axes, wide)}
	}
	return zeroGradient(c)
}

// prodGradient is dy times the product of the other elements. If no element is 0, that is the whole product divided by
// the element. If exactly one is 0, only that element has a gradient.
func prodGradient(x, dy, y *Tensor, axes []int, wide func(*Tensor) *Tensor) *Tensor {
	isZero := CompareScalar(ir.Eq, x, 0)
	zeros := wide(Sum(Cast(isZero, x.DType()), axes...))
	safe := Where(isZero, OnesLike(x), x)
	others := wide(Prod(safe, axes...))
	single := LogicalAnd(isZero, CompareScalar(ir.Eq, zeros, 1))
	slope := Where(CompareScalar(ir.Eq, zeros, 0), Divide(y, safe), Where(single, others, ZerosLike(x)))
	return Multiply(dy, slope)
}

// othersGradient is prodGradient for one axis of a few elements. It multiplies the products of the elements before and
// after each.
//
//dim:known n is a constant
func othersGradient(x, dy *Tensor, axis, n int) *Tensor {
	dx := make([]*Tensor, n)
	for j, before := 0, dy; j < n; j++ {
		dx[j] = before
		before = Multiply(before, Index(x, axis, j))
	}
	for j, behind := n-2, Index(x, axis, n-1); j >= 0; j-- {
		dx[j] = Multiply(dx[j], behind)
		behind = Multiply(behind, Index(x, axis, j))
	}
	return Stack(axis, dx...)
}
