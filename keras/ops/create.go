package ops

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Full returns a tensor filled with value. t says which graph it belongs to, because it has no operands to tell.
func Full(t Traced, dtype ir.DType, value float64, shape ...int) *Tensor {
	g := graphFor(t)
	needType(g, dtype)
	g.checkNumber(value)
	return g.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(dtype, value, shape...)})[0]
}

// needType fails for invalid element types, such as the zero value.
func needType(g *Graph, dtype ir.DType) {
	if !dtype.Valid() {
		Failf(g, "needs an element type such as ir.Float32, received %v", dtype)
	}
}

// Zeros returns a tensor of zeros.
func Zeros(t Traced, dtype ir.DType, shape ...int) *Tensor { return Full(t, dtype, 0, shape...) }

// Ones returns a tensor of ones.
func Ones(t Traced, dtype ir.DType, shape ...int) *Tensor { return Full(t, dtype, 1, shape...) }

// FullLike returns a tensor of the type of x filled with value.
func FullLike(x *Tensor, value float64) *Tensor { return Full(x, x.DType(), value, x.Shape()...) }

// ZerosLike returns zeros of the type of x.
func ZerosLike(x *Tensor) *Tensor { return FullLike(x, 0) }

// OnesLike returns ones of the type of x.
func OnesLike(x *Tensor) *Tensor { return FullLike(x, 1) }

// Scalar returns a scalar of the element type of like.
func Scalar(like *Tensor, value float64) *Tensor { return Full(like, like.DType(), value) }

// Constant returns a tensor with the given elements, row-major, converted to dtype.
func Constant(t Traced, dtype ir.DType, shape ir.Shape, values []float64) *Tensor {
	g := graphFor(t)
	needType(g, dtype)
	if g.Root().open {
		for _, v := range values {
			g.checkNumber(v)
		}
	}
	l, err := ir.Floats(dtype, shape, values)
	if err != nil {
		Fail(g, err)
	}
	return g.add(ir.Constant, ir.ConstantAttrs{Literal: l})[0]
}

// Iota returns 0, 1, 2, ... along axis of the given shape, repeated along the other axes.
func Iota(t Traced, dtype ir.DType, axis int, shape ...int) *Tensor {
	g := graphFor(t)
	axis = normalizeAxis(g, axis, len(shape), shape)
	return g.add(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: dtype, Shape: shape}, Axis: axis})[0]
}

// CheckTable fails if a table with axes of the given lengths, which the trace is about to compute, would be too large.
func CheckTable(t Traced, what string, lengths ...int) {
	open := slices.ContainsFunc(lengths, func(d int) bool { return d < 0 && !dim.Known(d) })
	if n := ir.MulLengths(lengths...); !open && n > ir.MaxTable {
		Failf(graphFor(t), "%s: needs a table of %v numbers; at most %d are possible, check the sizes that were given", what, ir.Shape(lengths), ir.MaxTable)
	}
}

// Arange returns 0, 1, ..., n-1.
func Arange(t Traced, dtype ir.DType, n int) *Tensor { return Iota(t, dtype, 0, n) }

// ArangeBetween returns start, start+step, start+2·step, ... below stop (above it for a negative step).
func ArangeBetween(t Traced, dtype ir.DType, start, stop, step float64) *Tensor {
	g := graphFor(t)
	if step == 0 || math.IsNaN((stop-start)/step) || math.IsInf((stop-start)/step, 0) {
		Failf(g, "arange: cannot go from %v to %v in steps of %v", start, stop, step)
	}
	n := math.Ceil((stop - start) / step)
	CheckTable(g, "arange", int(min(n, ir.MaxTable+1)))
	values := make([]float64, max(0, int(n)))
	for i := range values {
		values[i] = start + float64(i)*step
	}
	return Constant(t, dtype, ir.Shape{len(values)}, values)
}

// Linspace returns n numbers at equal distances from start to stop, both included.
func Linspace(t Traced, dtype ir.DType, start, stop float64, n int) *Tensor {
	return spaced(t, "linspace", dtype, start, stop, n, func(v float64) float64 { return v })
}

// Logspace returns base to the power of n numbers at equal distances from start to stop, both included.
func Logspace(t Traced, dtype ir.DType, start, stop float64, n int, base float64) *Tensor {
	return spaced(t, "logspace", dtype, start, stop, n, func(v float64) float64 { return math.Pow(base, v) })
}

// Geomspace returns n numbers from start to stop, both included and of the same sign, with a constant ratio between
// neighbours.
func Geomspace(t Traced, dtype ir.DType, start, stop float64, n int) *Tensor {
	if !(start*stop > 0) {
		Failf(graphFor(t), "geomspace: start %v and stop %v must have one sign and not be zero", start, stop)
	}
	sign := math.Copysign(1, start)
	x := spaced(t, "geomspace", ir.Float64, math.Log(sign*start), math.Log(sign*stop), n, func(v float64) float64 { return sign * math.Exp(v) })
	return Cast(x, dtype)
}

// spaced returns f of n numbers at equal distances from start to stop.
func spaced(t Traced, what string, dtype ir.DType, start, stop float64, n int, f func(float64) float64) *Tensor {
	if n < 0 {
		Failf(graphFor(t), "%s: the count must not be negative, received %d", what, n)
	}
	CheckTable(t, what, n)
	values := make([]float64, n)
	for i := range values {
		v := start
		switch {
		case i > 0 && i == n-1:
			v = stop
		case i > 0:
			v += (stop - start) * float64(i) / float64(n-1)
		}
		values[i] = f(v)
	}
	return Constant(t, dtype, ir.Shape{n}, values)
}

// Vander returns the (len(x), n) matrix of the powers of the elements of vector x: n-1 ... 0 from left to right, or 0
// ... n-1 if increasing is set.
func Vander(x *Tensor, n int, increasing bool) *Tensor {
	if x.Rank() != 1 || n < 0 {
		Failf(x.g, "vander: needs a vector and a number of columns of 0 or more, received shape %v and %d", x.Shape(), n)
	}
	if n == 0 {
		return Zeros(x, x.DType(), x.Dim(0), 0)
	}
	if x.DType() == ir.Bool { // a product of bools is "and"
		return Cast(Vander(Cast(x, ir.Int32), n, increasing), ir.Bool)
	}
	columns := []*Tensor{OnesLike(x)}
	for len(columns) < n {
		columns = append(columns, Multiply(columns[len(columns)-1], x))
	}
	if !increasing {
		slices.Reverse(columns)
	}
	return Stack(1, columns...)
}

// Identity returns the (n, n) matrix with ones on the main diagonal.
func Identity(t Traced, dtype ir.DType, n int) *Tensor { return Eye(t, dtype, n, n) }

// Eye returns the (rows, columns) matrix with ones on the main diagonal.
func Eye(t Traced, dtype ir.DType, rows, columns int) *Tensor {
	return Cast(Equal(Iota(t, ir.Int32, 0, rows, columns), Iota(t, ir.Int32, 1, rows, columns)), dtype)
}
