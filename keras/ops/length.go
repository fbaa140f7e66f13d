package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Length returns the length of an axis, or what package dim computed from several, as a scalar of the given type. An
// open length is counted when the program runs.
func Length(t Traced, dtype ir.DType, n int) *Tensor {
	if dim.Known(n) {
		return Full(t, dtype, float64(n)) //dim:known
	}
	return Cast(Sum(Ones(t, ir.Int32, n)), dtype)
}

// DivideByLength returns x/n for a length n, in the float type of x.
func DivideByLength(x *Tensor, n int) *Tensor {
	if dim.Known(n) {
		return DivideScalar(x, float64(n)) //dim:known
	}
	return Divide(x, Length(x, x.DType(), n))
}

// MultiplyByInverse returns x·(factor/n) for a length n, in the float type of x.
func MultiplyByInverse(x *Tensor, factor float64, n int) *Tensor {
	if dim.Known(n) {
		return MultiplyScalar(x, factor/float64(n)) //dim:known
	}
	return Multiply(x, Divide(Scalar(x, factor), Length(x, x.DType(), n)))
}

// MultiplyByLength returns x·n for a length n, in the type of x.
func MultiplyByLength(x *Tensor, n int) *Tensor {
	if dim.Known(n) {
		return MultiplyScalar(x, float64(n)) //dim:known
	}
	return Multiply(x, Length(x, x.DType(), n))
}

// AddLength returns x+n for a length n, in the type of x.
func AddLength(x *Tensor, n int) *Tensor {
	if dim.Known(n) {
		return AddScalar(x, float64(n)) //dim:known
	}
	return Add(x, Length(x, x.DType(), n))
}

// CompareLength is [CompareScalar] with a length, which must fit the type of x.
func CompareLength(d ir.Direction, x *Tensor, n int) *Tensor {
	if dim.Known(n) {
		return CompareScalar(d, x, float64(n)) //dim:known
	}
	return CompareScalar(d, Subtract(x, Length(x, x.DType(), n)), 0)
}

// Fixed fails if one of the lengths is open. It is for code that differs for each length, such as repeating something
// that often; what describes it.
func Fixed(t Traced, what string, lengths ...int) {
	for _, n := range lengths {
		if !dim.Known(n) {
			Failf(graphFor(t), "%s needs axes of a fixed length here, received an open one (%s); give the axis a length in the shape of the input", what, dim.String(n))
		}
	}
}

// Number returns f(), a number that depends on lengths and decides no shape. If one of the lengths is open the number
// is unknown: the result is 1 and the graph is valid for its shapes alone, see [Graph.ShapesOnly].
func Number(t Traced, f func() float64, lengths ...int) float64 {
	if dim.AllKnown(lengths) {
		if f == nil {
			Failf(nil, "number: the function is nil")
		}
		return f()
	}
	graphFor(t).OnlyShapes()
	return 1
}

// Table returns a constant of the given shape whose elements, row-major, f computes from lengths. If one of the
// lengths, or an axis of the shape, is open, the elements are zeros and the graph is valid for its shapes alone, see
// [Graph.ShapesOnly].
func Table(t Traced, dtype ir.DType, shape ir.Shape, f func() []float64, lengths ...int) *Tensor {
	if dim.AllKnown(shape) && dim.AllKnown(lengths) {
		if f == nil {
			Failf(nil, "table: the function is nil")
		}
		return Constant(t, dtype, shape, f())
	}
	graphFor(t).OnlyShapes()
	return Zeros(t, dtype, shape...)
}
