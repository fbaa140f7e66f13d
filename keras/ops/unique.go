package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// UniqueResult is what [Unique] returns.
type UniqueResult struct {
	// Values (size) are the different elements, ascending.
	Values *Tensor
	// Index (size) is where each first occurs, int32; of missing ones that of the least element.
	Index *Tensor
	// Inverse, of the shape of x, is the place of each element of x in Values, int32.
	Inverse *Tensor
	// Counts (size) is how often each occurs, int32.
	Counts *Tensor
}

// Unique returns the different elements of x in ascending order. Their number is size, since shapes do not depend on numbers: larger
// ones are left out, and missing ones filled up with fill. NaN, which differs from itself, counts once
// for each occurrence.
func Unique(x *Tensor, size int, fill float64) UniqueResult {
	n := x.Shape().Size()
	if size < 1 || n == 0 {
		Failf(x.g, "unique: needs elements and a size of at least 1, received %v and %d", x.Shape(), size)
	}
	flat := Ravel(x)
	order := Argsort(flat, 0)
	sorted := Take(flat, order, 0)
	fresh := Ones(x, ir.Bool, 1)
	if n != 1 {
		fresh = Concatenate(0, fresh, NotEqual(SliceAxis(sorted, 0, 1, n), SliceAxis(sorted, 0, 0, dim.Sub(n, 1))))
	}
	group := SubtractScalar(Cumsum(Cast(fresh, ir.Int32), 0), 1) // of each place of sorted
	inverse := ScatterUpdatePoints(ZerosLike(order), ExpandDims(order, 1), group)
	kept := Minimum(group, FullLike(group, float64(size))) // what is too much falls into a place of its own
	counts := SliceAxis(Scatter(ExpandDims(kept, 1), OnesLike(order), size+1), 0, 0, size)
	// The first place of a group in sorted; elements that are equal keep their order.
	ends := Cumsum(counts, 0)
	first := Minimum(Subtract(ends, counts), Length(ends, ends.DType(), dim.Sub(n, 1)))
	present := CompareScalar(ir.Gt, counts, 0)
	index := Take(order, Where(present, first, ZerosLike(first)), 0)
	values := Take(flat, index, 0)
	values = Where(present, values, FullLike(values, fill))
	return UniqueResult{values, index, Reshape(inverse, x.Shape()...), counts}
}
