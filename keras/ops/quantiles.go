package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Quantiles is [QuantileMethod] for the quantiles in the tensor q. The result has the axes of q, then those of x
// without axis.
func Quantiles(x, q *Tensor, method string, axis int) *Tensor {
	x, q = commonTypes(x, q)
	if d := x.DType(); d.IsHalf() { // half precision counts at most to 2048
		return Cast(Quantiles(Cast(x, ir.Float32), Cast(q, ir.Float32), method, axis), d)
	}
	sorted, missing := sortedForQuantiles("quantile", x, axis)
	n := sorted.Dim(0)
	last := dim.Sub(n, 1)
	at := quantilePlace(MultiplyByLength(q, last), method)
	low := Minimum(MaximumScalar(Floor(at), 0), Length(at, at.DType(), last))
	share := Reshape(Subtract(at, low), append(q.Shape().Clone(), orAll(nil, 1, sorted.Rank()-1)...)...)
	place := Cast(low, ir.Int32)
	above := Take(sorted, Minimum(AddScalar(place, 1), Length(place, ir.Int32, last)), 0)
	y := Add(Multiply(Take(sorted, place, 0), Subtract(OnesLike(share), share)), Multiply(above, share))
	return Where(missing, FullLike(y, math.NaN()), y)
}

// quantilePlace is the position at which a method reads a quantile that lies at position at among the sorted elements.
// At a fractional position, the elements on both sides are interpolated.
func quantilePlace(at *Tensor, method string) *Tensor {
	switch method {
	case "linear":
		return at
	case "lower":
		return Floor(at)
	case "higher":
		return Ceil(at)
	case "nearest":
		return Round(at)
	case "midpoint":
		return MultiplyScalar(Add(Floor(at), Ceil(at)), 0.5)
	}
	Failf(at.g, "quantile: unknown method %q; known: linear, lower, higher, nearest, midpoint", method)
	return nil
}

// commonTypes converts both to their common float type.
func commonTypes(x, q *Tensor) (*Tensor, *Tensor) {
	d := Promote(float(x).DType(), q.DType())
	return Cast(x, d), Cast(q, d)
}

// sortedForQuantiles moves the axis to the front and sorts along it; missing says where an element is NaN.
func sortedForQuantiles(what string, x *Tensor, axis int) (sorted, missing *Tensor) {
	x = MoveAxis(x, axis, 0)
	if x.Dim(0) == 0 {
		Failf(x.g, "%s: axis %d of %v is empty", what, axis, x.Shape())
	}
	sorted = Sort(x, 0)
	return sorted, Isnan(Index(sorted, 0, -1)) // NaN sorts last
}

// LogspaceOf returns base to the power of n numbers at equal distances from start to stop along a new first axis. With
// endpoint set stop is the last exponent, otherwise it would be the next one.
func LogspaceOf(start, stop *Tensor, n int, endpoint bool, base float64) *Tensor {
	start, stop = common(start, stop)
	x := LinspaceOf(start, stop, n, endpoint)
	return Power(Scalar(x, base), x)
}

// GeomspaceOf returns n numbers from start to stop, which have the same sign, with a constant ratio between neighbours,
// along a new first axis. With endpoint set stop is the last number, otherwise it would be the next one. If the signs
// differ the result is NaN. As in Keras, the result is float32 for the half types.
func GeomspaceOf(start, stop *Tensor, n int, endpoint bool) *Tensor {
	start, stop = common(float(start), float(stop))
	d := Promote(start.DType(), ir.Float32)
	start, stop = Cast(start, d), Cast(stop, d)
	sign := Sign(start)
	x := LinspaceOf(Log(Multiply(sign, start)), Log(Multiply(sign, stop)), n, endpoint)
	y := Multiply(Exp(x), sign)
	if n == 0 {
		return y
	}
	parts := []*Tensor{ExpandDims(start, 0)}
	switch {
	case endpoint && n > 1:
		parts = append(parts, SliceAxis(y, 0, 1, n-1), ExpandDims(stop, 0))
	case n > 1:
		parts = append(parts, SliceAxis(y, 0, 1, n))
	}
	exact := Concatenate(0, parts...)
	return Where(Isnan(y), y, exact)
}
