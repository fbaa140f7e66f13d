package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Nanargmax is Argmax over the elements that are not NaN, or -1 if all are NaN.
func Nanargmax(x *Tensor, axis int) *Tensor {
	if !x.DType().IsFloat() { // floats would round integers
		return Argmax(x, axis)
	}
	return orMinusOne(Argmax(withoutNaN(float(x), math.Inf(-1)), axis), x, axis)
}

// Nanargmin is Argmin over the elements that are not NaN, or -1 if all are NaN.
func Nanargmin(x *Tensor, axis int) *Tensor {
	if !x.DType().IsFloat() {
		return Argmin(x, axis)
	}
	return orMinusOne(Argmin(withoutNaN(float(x), math.Inf(1)), axis), x, axis)
}

func orMinusOne(y, x *Tensor, axis int) *Tensor {
	return Where(All(Isnan(float(x)), axis), FullLike(y, -1), y)
}

// Nancumsum is Cumsum with NaN counted as 0.
func Nancumsum(x *Tensor, axis int) *Tensor { return Cumsum(withoutNaN(float(x), 0), axis) }

// Nancumprod is Cumprod with NaN counted as 1.
func Nancumprod(x *Tensor, axis int) *Tensor { return Cumprod(withoutNaN(float(x), 1), axis) }

// Nanquantile is [Quantile] over the elements along axis that are not NaN, or NaN if all are NaN.
func Nanquantile(x *Tensor, q float64, axis int) *Tensor {
	return NanquantileMethod(x, q, "linear", axis)
}

// NanquantileMethod is [QuantileMethod] over the elements along axis that are not NaN, or NaN if all are NaN.
func NanquantileMethod(x *Tensor, q float64, method string, axis int) *Tensor {
	if !(q >= 0 && q <= 1) {
		Failf(graphOf(x), "nanquantile: q must be in [0, 1], received %v", q)
	}
	return nanquantile(float(x), Scalar(float(x), q), method, axis)
}

// Nanquantiles is NanquantileMethod for the quantiles in the tensor q. The result has the axes of q, then those of x
// without axis, and the float type of x.
func Nanquantiles(x, q *Tensor, method string, axis int) *Tensor {
	d := float(x).DType()
	x, q = commonTypes(x, q)
	Fixed(q, "nanquantile", q.Shape()...)
	checkParts(q, "nanquantile", q.Shape().Size())
	rows := make([]*Tensor, q.Shape().Size()) //dim:known
	for i, one := range Unstack(Ravel(q), 0) {
		rows[i] = nanquantile(x, one, method, axis)
	}
	y := Stack(0, rows...)
	return Cast(Reshape(y, append(q.Shape().Clone(), y.Shape()[1:]...)...), d)
}

func nanquantile(x, q *Tensor, method string, axis int) *Tensor {
	if d := x.DType(); d.IsHalf() { // half precision counts at most to 2048
		return Cast(nanquantile(Cast(x, ir.Float32), Cast(q, ir.Float32), method, axis), d)
	}
	axis = x.Axis(axis)
	n := x.Dim(axis)
	if n == 0 {
		return noneLeft(x, axis)
	}
	missing := Isnan(x)
	sorted := Sort(Where(missing, FullLike(x, math.Inf(1)), x), axis) // missing elements come last
	count := Sum(Cast(LogicalNot(missing), x.DType()), axis)
	at := quantilePlace(Multiply(MaximumScalar(SubtractScalar(count, 1), 0), q), method)
	low := Floor(at)
	element := func(i *Tensor) *Tensor {
		return Squeeze(TakeAlongAxis(sorted, ExpandDims(Cast(i, ir.Int32), axis), axis), axis)
	}
	share := Subtract(at, low)
	above := element(Minimum(AddScalar(low, 1), Length(low, low.DType(), dim.Sub(n, 1))))
	// A weight of 0 must not meet an infinity.
	above = Where(CompareScalar(ir.Gt, share, 0), above, ZerosLike(above))
	y := Add(Multiply(Subtract(OnesLike(share), share), element(low)), Multiply(share, above))
	return Where(CompareScalar(ir.Gt, count, 0), y, FullLike(y, math.NaN()))
}

// noneLeft is the median along an empty axis.
func noneLeft(x *Tensor, axis int) *Tensor { return FullLike(Sum(x, axis), math.NaN()) }

// Nanpercentile is Nanquantile for q in percent.
func Nanpercentile(x *Tensor, q float64, axis int) *Tensor { return Nanquantile(x, q/100, axis) }

// Nanmedian is [Median] over the elements along axis that are not NaN.
func Nanmedian(x *Tensor, axis int) *Tensor { return Nanquantile(x, 0.5, axis) }
