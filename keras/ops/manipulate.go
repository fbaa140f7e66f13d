package ops

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// MoveAxis moves one axis to another place; the others keep their order.
func MoveAxis(x *Tensor, from, to int) *Tensor {
	from, to = x.Axis(from), x.Axis(to)
	perm := slices.Delete(span(0, x.Rank()), from, from+1)
	return Transpose(x, slices.Insert(perm, to, from)...)
}

// SwapAxes exchanges two axes.
func SwapAxes(x *Tensor, a, b int) *Tensor {
	perm := span(0, x.Rank())
	a, b = x.Axis(a), x.Axis(b)
	perm[a], perm[b] = perm[b], perm[a]
	return Transpose(x, perm...)
}

// Repeat repeats each slice along axis n times: [a b] becomes [a a b b].
func Repeat(x *Tensor, n, axis int) *Tensor {
	axis = x.Axis(axis)
	if n < 0 {
		Failf(x.g, "repeat: the count must not be negative, received %d", n)
	}
	wide := slices.Insert(x.Shape().Clone(), axis+1, n)
	y := BroadcastTo(ExpandDims(x, axis+1), wide...)
	out := x.Shape().Clone()
	out[axis] = dim.Mul(out[axis], n)
	return Reshape(y, out...)
}

// RepeatEach repeats slice i along axis counts[i] times: [a b] with counts 1 and 2 becomes [a b b].
func RepeatEach(x *Tensor, counts []int, axis int) *Tensor {
	axis = x.Axis(axis)
	if !dim.MayEqual(len(counts), x.Dim(axis)) {
		Failf(x.g, "repeat: needs one count for each of the %d elements of axis %d, received %d", x.Dim(axis), axis, len(counts))
	}
	var places []float64
	for i, n := range counts {
		if n < 0 {
			Failf(x.g, "repeat: the counts must not be negative, received %v", counts)
		}
		CheckTable(x, "repeat", ir.AddLengths(len(places), n))
		places = append(places, slices.Repeat([]float64{float64(i)}, n)...)
	}
	return Take(x, Constant(x, ir.Int32, ir.Shape{len(places)}, places), axis)
}

// Tile lays copies of x side by side, reps[i] along axis i: [a b] becomes [a b a b]. If x has fewer axes than reps, or
// the other way round, the missing ones in front count as 1.
func Tile(x *Tensor, reps ...int) *Tensor {
	for x.Rank() < len(reps) {
		x = ExpandDims(x, 0)
	}
	reps = append(ints.Repeat(1, x.Rank()-len(reps)), reps...)
	var split, wide, out []int
	for i, d := range x.Shape() {
		if reps[i] < 0 {
			Failf(x.g, "tile: the counts must not be negative, received %v", reps)
		}
		split, wide, out = append(split, 1, d), append(wide, reps[i], d), append(out, dim.Mul(reps[i], d))
	}
	return Reshape(BroadcastTo(Reshape(x, split...), wide...), out...)
}

// Roll shifts the elements by shift places along axis; elements shifted off the end come in at the front.
func Roll(x *Tensor, shift, axis int) *Tensor {
	axis = x.Axis(axis)
	n := x.Dim(axis)
	if dim.Known(n) {
		if n == 0 || shift%n == 0 { //dim:known
			return x
		}
		shift %= n //dim:known
	}
	cut := dim.Sub(0, shift)
	if dim.Known(shift) && shift >= 0 {
		cut = dim.Sub(n, shift)
	}
	return Concatenate(axis, SliceAxis(x, axis, cut, n), SliceAxis(x, axis, 0, cut))
}

// diagonals is the bool (rows, columns) matrix that says whether column - row is in relation d to k.
func diagonals(t Traced, d ir.Direction, k, rows, columns int) *Tensor {
	// Beyond every matrix, and small enough for row + k not to overflow.
	k = min(max(k, -1<<30), 1<<30)                                                                  //dim:known a number
	column, row := Iota(t, ir.Int32, 0, columns), AddScalar(Iota(t, ir.Int32, 0, rows), float64(k)) //dim:known a number
	return compare(d, BroadcastTo(column, rows, columns), BroadcastTo(ExpandDims(row, 1), rows, columns))
}

// Tri returns the (rows, columns) matrix with ones where column - row <= k.
func Tri(t Traced, dtype ir.DType, rows, columns, k int) *Tensor {
	return Cast(diagonals(t, ir.Le, k, rows, columns), dtype)
}

// Diag returns the square matrix with vector x on its main diagonal and zeros elsewhere. (For the diagonal of a matrix
// see [Diagonal].)
func Diag(x *Tensor) *Tensor {
	if x.Rank() != 1 {
		Failf(x.g, "diag: needs a vector, received shape %v; for the diagonal of a matrix use Diagonal", x.Shape())
	}
	n := x.Dim(0)
	return Where(diagonals(x, ir.Eq, 0, n, n), BroadcastTo(x, n, n), Zeros(x, x.DType(), n, n))
}

// Diagonal returns the elements with equal positions along two axes, which disappear; the diagonal is the new last
// axis.
func Diagonal(x *Tensor, axis1, axis2 int) *Tensor {
	axis1, axis2 = x.Axis(axis1), x.Axis(axis2)
	if axis1 == axis2 {
		Failf(x.g, "diagonal: needs two different axes, received axis %d twice", axis1)
	}
	rest := free(x, []int{axis1, axis2}, nil)
	if rows, columns := x.Dim(axis1), x.Dim(axis2); dim.Known(rows) && dim.Known(columns) && len(rest) > 0 { // slice first, so that only what is read is transposed
		n := min(rows, columns) //dim:known
		x = SliceAxis(SliceAxis(x, axis1, 0, n), axis2, 0, n)
		if first := min(axis1, axis2); max(axis1, axis2) == first+1 && n > 0 { //dim:known
			return neighbouringDiagonal(x, first, n)
		}
	}
	x = Transpose(x, append(slices.Clone(rest), axis1, axis2)...)
	rows, columns := x.Dim(-2), x.Dim(-1)
	n := dim.Min(rows, columns)
	lead := x.Shape()[:len(rest)].Clone()
	if n == 0 {
		return Reshape(SliceAxis(x, -1, 0, 0), append(lead, 0)...)
	}
	// In the flattened matrix, diagonal elements are columns+1 apart.
	flat := Reshape(x, append(slices.Clone(lead), dim.Mul(rows, columns))...)
	start, limit, stride := make([]int, flat.Rank()), flat.Shape().Clone(), orAll(nil, 1, flat.Rank())
	Fixed(x, "a diagonal", columns)
	stride[len(stride)-1] = columns + 1 //dim:known
	limit[len(limit)-1] = dim.Add(dim.Mul(dim.Sub(n, 1), stride[len(stride)-1]), 1)
	return StridedSlice(flat, start, limit, stride)
}

// neighbouringDiagonal is [Diagonal] of two neighbouring axes of length n, of which the first is given. It transposes
// only the diagonal.
func neighbouringDiagonal(x *Tensor, first, n int) *Tensor {
	shape := x.Shape()
	flat := Reshape(x, ints.Concat(shape[:first], []int{n * n}, shape[first+2:])...) //dim:known
	start, limit, stride := make([]int, flat.Rank()), flat.Shape().Clone(), orAll(nil, 1, flat.Rank())
	limit[first], stride[first] = (n-1)*(n+1)+1, n+1 //dim:known
	return MoveAxis(StridedSlice(flat, start, limit, stride), first, -1)
}

// DiagonalAt is [Diagonal] for the diagonal offset places above the main one (below it if offset is negative): the
// elements whose position along axis2 is their position along axis1 plus offset.
func DiagonalAt(x *Tensor, offset, axis1, axis2 int) *Tensor {
	if a := x.Axis(axis2); offset > 0 {
		x = SliceAxis(x, a, dim.Min(offset, x.Dim(a)), x.Dim(a))
	}
	if a := x.Axis(axis1); offset < 0 {
		x = SliceAxis(x, a, dim.Min(-offset, x.Dim(a)), x.Dim(a))
	}
	return Diagonal(x, axis1, axis2)
}

// Trace returns the sum of the main diagonal of two axes, which disappear.
func Trace(x *Tensor, axis1, axis2 int) *Tensor { return Sum(Diagonal(x, axis1, axis2), -1) }

// Ravel returns x as a vector.
func Ravel(x *Tensor) *Tensor { return Reshape(x, x.Shape().Size()) }

// Unstack cuts x along axis into its slices, without that axis.
func Unstack(x *Tensor, axis int) []*Tensor {
	Fixed(x, "taking an axis apart", x.Dim(axis))
	checkParts(x, "unstack", x.Dim(axis))
	out := make([]*Tensor, x.Dim(axis)) //dim:known
	for i := range out {
		out[i] = Index(x, axis, i)
	}
	return out
}

// SplitAt cuts x along axis before each of the given positions, which must not decrease.
func SplitAt(x *Tensor, positions []int, axis int) []*Tensor {
	n := x.Dim(axis)
	out := make([]*Tensor, 0, len(positions)+1)
	from := 0
	for _, to := range append(slices.Clone(positions), n) {
		if dim.Less(to, from) || dim.Less(n, to) {
			Failf(x.g, "split: positions %v must not decrease nor exceed the length %d of axis %d", positions, n, axis)
		}
		out = append(out, SliceAxis(x, axis, from, to))
		from = to
	}
	return out
}

// Meshgrid returns one tensor for each vector. It varies along the axis of its vector and repeats along those of the
// others. With cartesian set (NumPy's indexing "xy") the first two axes are exchanged.
func Meshgrid(cartesian bool, xs ...*Tensor) []*Tensor {
	shape := make([]int, len(xs))
	for i, x := range xs {
		if x.Rank() != 1 {
			Failf(x.g, "meshgrid: needs vectors, tensor %d has shape %v", i, x.Shape())
		}
		shape[i] = x.Dim(0)
	}
	out := make([]*Tensor, len(xs))
	for i, x := range xs {
		alone := orAll(nil, 1, len(xs))
		alone[i] = shape[i]
		out[i] = BroadcastTo(Reshape(x, alone...), shape...)
		if cartesian && len(xs) > 1 {
			out[i] = SwapAxes(out[i], 0, 1)
		}
	}
	return out
}

// DynamicSlice returns the part of the given sizes that begins at starts (one integer scalar for each axis), shifted so
// that it fits.
func DynamicSlice(x *Tensor, starts []*Tensor, sizes ...int) *Tensor {
	in := []*Tensor{x}
	for _, s := range starts {
		in = append(in, Cast(s, ir.Int32))
	}
	return apply1(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: slices.Clone(sizes)}, in...)
}

// SliceUpdate returns x with a part replaced by update. The part begins at starts (one integer scalar for each axis),
// shifted so that it fits.
func SliceUpdate(x *Tensor, starts []*Tensor, update *Tensor) *Tensor {
	in := []*Tensor{x, Cast(update, x.DType())}
	for _, s := range starts {
		in = append(in, Cast(s, ir.Int32))
	}
	return apply1(ir.DynamicUpdateSlice, nil, in...)
}

func init() {
	rules[ir.DynamicSlice] = func(c *vjp) []*Tensor {
		grads := make([]*Tensor, len(c.node.Inputs))
		grads[0] = SliceUpdate(ZerosLike(c.in(0)), c.operands(1), c.dy(0))
		return grads
	}
	rules[ir.DynamicUpdateSlice] = func(c *vjp) []*Tensor {
		grads := make([]*Tensor, len(c.node.Inputs))
		starts, dy := c.operands(2), c.dy(0)
		if c.needs(0) {
			grads[0] = SliceUpdate(dy, starts, ZerosLike(c.in(1)))
		}
		if c.needs(1) {
			grads[1] = DynamicSlice(dy, starts, c.in(1).Shape()...)
		}
		return grads
	}
}

// operands returns the operands from number i on.
func (c *vjp) operands(i int) []*Tensor {
	var ts []*Tensor
	for ; i < len(c.node.Inputs); i++ {
		ts = append(ts, c.in(i))
	}
	return ts
}
