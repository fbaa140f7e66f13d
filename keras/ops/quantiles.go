package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Quantiles is [QuantileMethod] for the quantiles that the tensor q holds: the result has the axes of q, and then those
// of x without axis.
func Quantiles(x, q *Tensor, method string, axis int) *Tensor {
	x, q = commonTypes(x, q)
	if d := x.DType(); d.IsHalf() { // which cannot count further than 2048
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

// quantilePlace is where a method reads a quantile that lies at the place at among the sorted elements; between two, it
// interpolates.
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

// commonTypes brings both to the float type that they share.
func commonTypes(x, q *Tensor) (*Tensor, *Tensor) {
	d := Promote(float(x).DType(), q.DType())
	return Cast(x, d), Cast(q, d)
}

// sortedForQuantiles moves the axis to the front and sorts along it; missing is where an element is NaN.
func sortedForQuantiles(what string, x *Tensor, axis int) (sorted, missing *Tensor) {
	x = MoveAxis(x, axis, 0)
	if x.Dim(0) == 0 {
		Failf(x.g, "%s: axis %d of %v is empty", what, axis, x.Shape())
	}
	sorted = Sort(x, 0)
	return sorted, Isnan(Index(sorted, 0, -1)) // NaN sorts last
}

// LogspaceOf returns base to the power of n numbers at equal distances from start to stop along a new first axis; with
// endpoint stop is the last exponent, otherwise it would be the next.
func LogspaceOf(start, stop *Tensor, n int, endpoint bool, base float64) *Tensor {
	start, stop = common(start, stop)
	x := LinspaceOf(start, stop, n, endpoint)
	return Power(Scalar(x, base), x)
}

// GeomspaceOf returns n numbers from start to stop, of one sign, each the same multiple of the one before, along a new
// first axis; with endpoint stop is the last of them, otherwise it would be the next. Where the signs differ the result
// is NaN. As in Keras the result is float32 for the half types.
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
