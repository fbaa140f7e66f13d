package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// VectorNorm returns the norm of the given order along axes taken together, or of all elements without axes:
// (Σ|x|^p)^(1/p) for p other than 0, the largest |x| for +Inf, the smallest for -Inf, and the number of elements that
// are not zero for 0. The largest of none is 0.
func VectorNorm(x *Tensor, order float64, axes ...int) *Tensor {
	x = float(x)
	switch {
	case math.IsInf(order, 1):
		return largestNorm(Abs(x), axes...)
	case math.IsInf(order, -1):
		return smallestNorm(Abs(x), axes...)
	case order == 0:
		return Sum(Cast(CompareScalar(ir.Ne, x, 0), x.DType()), axes...)
	case order == 1:
		return Sum(Abs(x), axes...)
	case order == 2:
		return Norm(x, axes...)
	}
	return PowerScalar(Sum(PowerScalar(Abs(x), order), axes...), 1/order)
}

// MatrixNorm returns a norm of the matrices along two axes: for order 1 (-1) the largest (smallest) sum of |x| in a
// column, for +Inf (-Inf) that in a row, for 2 (-2) the largest (smallest) singular value. The Frobenius norm is
// VectorNorm of order 2 over both axes, the nuclear norm [NuclearNorm].
func MatrixNorm(x *Tensor, order float64, rows, columns int) *Tensor {
	x = float(x)
	rows, columns = x.Axis(rows), x.Axis(columns)
	if rows == columns {
		Failf(x.g, "matrix norm: needs two different axes, received axis %d twice", rows)
	}
	summed, rest := rows, columns
	if math.IsInf(order, 0) {
		summed, rest = columns, rows
	} else if order == 2 || order == -2 {
		return spectralNorm(x, order, rows, columns)
	} else if order != 1 && order != -1 {
		Failf(x.g, "matrix norm: the order must be 1, -1, 2, -2, +Inf or -Inf, received %v", order)
	}
	sums := KeepDims(Sum(Abs(x), summed), x, summed)
	if order > 0 {
		sums = KeepDims(largestNorm(sums, rest), sums, rest)
	} else {
		sums = KeepDims(smallestNorm(sums, rest), sums, rest)
	}
	return Squeeze(sums, rows, columns)
}

// largestNorm is Max of numbers that are not negative; that of none is 0.
func largestNorm(x *Tensor, axes ...int) *Tensor {
	for _, axis := range allAxes(x, axes) {
		if x.Dim(axis) == 0 {
			return Sum(x, axes...)
		}
	}
	return Max(x, axes...)
}

// smallestNorm is Min, which nothing has not. The first axis may be that of a batch, of which a replica has nothing.
func smallestNorm(x *Tensor, axes ...int) *Tensor {
	for _, axis := range allAxes(x, axes) {
		if axis > 0 && x.Dim(axis) == 0 {
			Failf(x.g, "norm: axis %d of %v is empty, and nothing has no smallest number; expected one element at least", axis, x.Shape())
		}
	}
	return Min(x, axes...)
}

// LinspaceOf returns, along a new axis 0, n values at equal distances from each element of start to that of stop: start
// + i·(stop-start)/(n-1) with endpoint set, which includes stop, and start + i·(stop-start)/n without.
func LinspaceOf(start, stop *Tensor, n int, endpoint bool) *Tensor {
	start, stop = common(float(start), float(stop))
	if n < 0 {
		Failf(graphOf(start, stop), "linspace: the count must not be negative, received %d", n)
	}
	CheckTable(start, "linspace", n)
	parts := float64(n)
	if endpoint {
		parts--
	}
	shares := make([]float64, n)
	for i := range shares {
		if i > 0 {
			shares[i] = float64(i) / parts
		}
	}
	share := Constant(start, start.DType(), ir.Shape{n}, shares)
	for range start.Rank() {
		share = ExpandDims(share, -1)
	}
	whole := Subtract(OnesLike(share), share)
	return Add(Multiply(whole, ExpandDims(start, 0)), Multiply(share, ExpandDims(stop, 0)))
}
