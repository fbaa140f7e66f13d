package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// UniqueResult is what [Unique] returns.
type UniqueResult struct {
	// Values (size) are the different elements, ascending.
	Values *Tensor
	// Index (size) is where each value first occurs, int32; missing values have that of the smallest element.
	Index *Tensor
	// Inverse, of the shape of x, is the position of each element of x in Values, int32.
	Inverse *Tensor
	// Counts (size) is how often each value occurs, int32.
	Counts *Tensor
}

// Unique returns the different elements of x in ascending order. Shapes do not depend on numbers, so the number of
// elements is always size: the largest are left out, or missing ones are filled with fill. NaN differs from itself, so
// each NaN counts separately.
func Unique(x *Tensor, size int, fill float64) UniqueResult {
	u := uniqueRows(Reshape(x, -1, 1), size, fill)
	u.Values, u.Inverse = Ravel(u.Values), Reshape(u.Inverse, x.Shape()...)
	return u
}

// UniqueAlong is [Unique] for slices along an axis, ordered by their first elements that differ. Values has size slices
// along the axis; Index, Inverse (length of the axis) and Counts refer to slices.
func UniqueAlong(x *Tensor, axis, size int, fill float64) UniqueResult {
	axis = x.Axis(axis)
	first := MoveAxis(x, axis, 0)
	u := uniqueRows(Reshape(first, x.Dim(axis), -1), size, fill)
	shape := first.Shape().Clone()
	shape[0] = size
	u.Values = MoveAxis(Reshape(u.Values, shape...), 0, axis)
	return u
}

// uniqueRows is Unique of the rows of x (rows, columns).
func uniqueRows(x *Tensor, size int, fill float64) UniqueResult {
	n := x.Dim(0)
	if n == 0 && size > 0 {
		none := Zeros(x, ir.Int32, size)
		return UniqueResult{Full(x, x.DType(), fill, size, x.Dim(1)), none, Zeros(x, ir.Int32, 0), none}
	}
	if size < 1 || x.Shape().Size() == 0 {
		Failf(x.g, "unique: needs elements and a size of at least 1, received %v and %d", x.Shape(), size)
	}
	order := orderOfRows(x)
	sorted := Take(x, order, 0)
	fresh := Ones(x, ir.Bool, 1)
	if n != 1 {
		fresh = Concatenate(0, fresh, Any(NotEqual(SliceAxis(sorted, 0, 1, n), SliceAxis(sorted, 0, 0, dim.Sub(n, 1))), 1))
	}
	group := SubtractScalar(Cumsum(Cast(fresh, ir.Int32), 0), 1) // of each position in sorted
	inverse := ScatterUpdatePoints(ZerosLike(order), ExpandDims(order, 1), group)
	kept := Minimum(group, FullLike(group, float64(size))) // surplus groups share one extra position
	counts := SliceAxis(Scatter(ExpandDims(kept, 1), OnesLike(order), size+1), 0, 0, size)
	// The first position of a group in sorted, because equal rows keep their order.
	ends := Cumsum(counts, 0)
	first := Minimum(Subtract(ends, counts), Length(ends, ends.DType(), dim.Sub(n, 1)))
	present := CompareScalar(ir.Gt, counts, 0)
	index := Take(order, Where(present, first, ZerosLike(first)), 0)
	values := Take(x, index, 0)
	values = Where(ExpandDims(present, 1), values, FullLike(values, fill))
	return UniqueResult{values, index, inverse, counts}
}

// orderOfRows sorts rows by their first elements that differ. It sorts stably by one column after the other, the last
// one first.
func orderOfRows(x *Tensor) *Tensor {
	if x.Dim(1) == 1 {
		return Argsort(Ravel(x), 0)
	}
	order := Argsort(Ravel(SliceAxis(x, 1, dim.Sub(x.Dim(1), 1), x.Dim(1))), 0)
	final, _ := Scan(func(carry, columns []*Tensor) (next, ys []*Tensor) {
		return []*Tensor{Take(carry[0], Argsort(Take(columns[0], carry[0], 0), 0), 0)}, nil
	}, []*Tensor{order}, []*Tensor{Flip(Transpose(SliceAxis(x, 1, 0, dim.Sub(x.Dim(1), 1))), 0)}, ScanOptions{})
	return final[0]
}
