package ops

import (
	"math"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Take returns the slices of x at the given integer positions along axis: the axes of indices replace the axis.
// Negative positions count from the end; a position outside the axis is an error when the program runs.
func Take(x, indices *Tensor, axis int) *Tensor {
	axis = x.Axis(axis)
	return apply1(ir.Gather, ir.GatherAttrs{Axis: axis}, x, fromFront(indices, x.Dim(axis)))
}

// fromFront adds n to those negative positions that exist in an axis of length n. Others stay as they are, so that the
// error of the run shows them.
func fromFront(indices *Tensor, n int) *Tensor {
	d := indices.DType()
	if !d.IsInteger() {
		Failf(indices.g, "positions must be integers, received %v; cast them first", indices.Type())
	}
	if !d.IsSigned() {
		return indices
	}
	if d.Size() < 4 {
		indices = Cast(indices, ir.Int32) // n need not fit the narrow type
	}
	if !dim.Known(n) {
		length := Length(indices, indices.DType(), n)
		negative := LogicalAnd(CompareScalar(ir.Lt, indices, 0), GreaterEqual(indices, Negative(length)))
		return Where(negative, Add(indices, length), indices)
	}
	length := float64(n) //dim:known
	negative := LogicalAnd(CompareScalar(ir.Lt, indices, 0), CompareScalar(ir.Ge, indices, -length))
	return Where(negative, AddScalar(indices, length), indices)
}

// Embedding returns the rows of table (rows, width) that indices select, (indices..., width). Indices must be in [0,
// rows); others are an error when the program runs. Floats are truncated to integers, as in Keras.
func Embedding(table, indices *Tensor) *Tensor {
	if !indices.DType().IsInteger() {
		indices = Cast(indices, ir.Int32)
	}
	return apply1(ir.Embedding, nil, table, indices)
}

// TakeAlongAxis picks one element of x for each element of indices: result[.., i, ..] = x[.., indices[.., i, ..], ..]
// with the position along axis. The other axes broadcast. Negative positions count from the end; a position outside the
// axis is an error when the program runs.
func TakeAlongAxis(x, indices *Tensor, axis int) *Tensor {
	axis = x.Axis(axis)
	g := graphOf(x, indices)
	if indices.Rank() != x.Rank() {
		Failf(g, "take along axis: x %v and positions %v must have the same rank", x.Shape(), indices.Shape())
	}
	lead, err := ir.BroadcastShapes(x.Shape().WithOnes(axis), indices.Shape().WithOnes(axis))
	if err != nil {
		Fail(g, err)
	}
	n, k := x.Dim(axis), indices.Dim(axis)
	wide := lead.Clone()
	wide[axis] = n
	x = BroadcastTo(x, wide...)
	wide = lead.Clone()
	wide[axis] = k
	if !indices.DType().IsInteger() {
		Failf(g, "positions must be integers, received %v; cast them first", indices.Type())
	}
	if indices.DType().IsSigned() && indices.DType().Size() < 4 {
		indices = Cast(indices, ir.Int32) // n need not fit the narrow type
	}
	positions := flatPositions(x.Shape(), BroadcastTo(indices, wide...), axis, true)
	return apply1(ir.Gather, ir.GatherAttrs{}, Reshape(x, x.Shape().Size()), positions)
}

// putAlong adds updates to zeros of the given shape at positions along axis: the mirror image of TakeAlongAxis.
func putAlong(shape ir.Shape, positions, updates *Tensor, axis int) *Tensor {
	zeros := Zeros(graphOf(positions, updates), updates.DType(), shape.Size())
	sum := apply1(ir.Scatter, ir.ScatterAttrs{Kind: ir.Sum}, zeros, flatPositions(shape, positions, axis, false), updates)
	return Reshape(sum, shape...)
}

// flatPositions turns positions along one axis of shape into row-major positions. A position outside the axis becomes
// -1, so that it does not land in a neighbouring row. If fromEnd is set, negative positions count from the end.
func flatPositions(shape ir.Shape, positions *Tensor, axis int, fromEnd bool) *Tensor {
	d := ir.Int32
	if n := shape.Size(); dim.Known(n) && n > 1<<31-1 || positions.DType().Size() > 4 || positions.DType() == ir.Uint32 {
		d = ir.Int64
	}
	n, inner := shape[axis], shape[axis+1:].Size()
	outer := shape[:axis].Size()
	p := Reshape(Cast(positions, d), outer, positions.Dim(axis), inner)
	// The lines of the axis begin at few positions, which are known in advance. Short lines have one for each element.
	count := positions.Dim(axis)
	if length := dim.Mul(count, inner); !dim.Known(length) || length >= 128 {
		count = 1
	}
	first := Add(MultiplyByLength(Iota(p, d, 0, outer, count, inner), dim.Mul(n, inner)), Iota(p, d, 2, outer, count, inner))
	if fromEnd && positions.DType().IsSigned() {
		p = Where(CompareScalar(ir.Lt, p, 0), AddLength(p, n), p)
	}
	valid := LogicalAnd(CompareLength(ir.Lt, p, n), CompareScalar(ir.Ge, p, 0))
	flat := Add(MultiplyByLength(p, inner), BroadcastTo(first, p.Shape()...))
	return Reshape(Where(valid, flat, FullLike(flat, -1)), positions.Shape()...)
}

// ScatterAdd adds updates to operand at integer positions along axis; updates has the shape of operand with that axis
// replaced by the axes of indices. Updates at the same position add up.
func ScatterAdd(operand, indices, updates *Tensor, axis int) *Tensor {
	return scatter(ir.Sum, operand, indices, updates, axis)
}

// ScatterUpdate replaces slices of operand at integer positions along axis by updates. Of several at the same position
// the last one stays.
func ScatterUpdate(operand, indices, updates *Tensor, axis int) *Tensor {
	return scatter(ir.Set, operand, indices, updates, axis)
}

// ScatterMax keeps the larger of operand and updates at integer positions along axis.
func ScatterMax(operand, indices, updates *Tensor, axis int) *Tensor {
	return scatter(ir.Max, operand, indices, updates, axis)
}

// ScatterMin keeps the smaller of operand and updates at integer positions along axis.
func ScatterMin(operand, indices, updates *Tensor, axis int) *Tensor {
	return scatter(ir.Min, operand, indices, updates, axis)
}

func scatter(kind ir.Kind, operand, indices, updates *Tensor, axis int) *Tensor {
	axis = operand.Axis(axis)
	s := ints.Concat(operand.Shape()[:axis], indices.Shape(), operand.Shape()[axis+1:])
	updates = BroadcastTo(Cast(updates, operand.DType()), s...)
	return apply1(ir.Scatter, ir.ScatterAttrs{Axis: axis, Kind: kind}, operand, fromFront(indices, operand.Dim(axis)), updates)
}

// SegmentSum adds up the slices of x (axis 0) that have the same number in segments, an integer vector; the result has
// count slices. Numbers outside [0, count) are ignored, as in Keras.
func SegmentSum(x, segments *Tensor, count int) *Tensor {
	return segment(ir.Sum, x, segments, count, 0)
}

// SegmentMax takes the largest of the slices of x (axis 0) that have the same number in segments; a segment without
// slices gives minus infinity (integers: the smallest number).
func SegmentMax(x, segments *Tensor, count int) *Tensor {
	return segment(ir.Max, x, segments, count, neutralElement(ir.Max))
}

// SegmentMin takes the smallest of the slices of x (axis 0) that have the same number in segments; a segment without
// slices gives infinity (integers: the largest number).
func SegmentMin(x, segments *Tensor, count int) *Tensor {
	return segment(ir.Min, x, segments, count, neutralElement(ir.Min))
}

// SegmentProd multiplies the slices of x (axis 0) that have the same number in segments; a segment without slices gives
// 1.
func SegmentProd(x, segments *Tensor, count int) *Tensor {
	return segment(ir.Prod, x, segments, count, 1)
}

func segment(kind ir.Kind, x, segments *Tensor, count int, start float64) *Tensor {
	if segments.Rank() != 1 || x.Rank() == 0 || !dim.MayEqual(x.Dim(0), segments.Dim(0)) {
		Failf(graphOf(x, segments), "segment %s: segments %v must be a vector with one number for each slice of x %v", kind, segments.Shape(), x.Shape())
	}
	shape := append([]int{count}, x.Shape()[1:]...)
	attrs := ir.ScatterAttrs{Kind: kind, Mode: ir.IndexDrop}
	return apply1(ir.Scatter, attrs, Full(graphOf(x, segments), x.DType(), start, shape...), segments, x)
}

// OneHot returns, along a new last axis of length classes, a one at the index in x and zeros elsewhere. An index
// outside [0, classes) gives only zeros.
func OneHot(x *Tensor, classes int, dtype ir.DType) *Tensor {
	d := x.DType()
	switch {
	case d == ir.Uint32 || d == ir.Uint64: // numbers beyond int64 wrap to negative ones, which are no class either
		d = ir.Int64
	case !d.IsInteger() || d.Size() < 4:
		d = ir.Int32
	}
	x = Cast(x, d)
	if d == ir.Int64 && dim.Known(classes) && classes < math.MaxInt32 { // 32 bits hold every class and one number more
		d = ir.Int32
		x = Cast(Clip(x, -1, float64(classes)), d) //dim:known
	}
	return Cast(Equal(ExpandDims(x, -1), Iota(x, d, 0, classes)), dtype)
}

func init() {
	rules[ir.Gather] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.GatherAttrs)
		attrs := ir.ScatterAttrs{Axis: a.Axis, Kind: ir.Sum, Mode: a.Mode}
		return []*Tensor{apply1(ir.Scatter, attrs, ZerosLike(c.in(0)), c.in(1), c.dy(0)), nil}
	}
	rules[ir.Embedding] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.EmbeddingGrad, nil, c.in(0), c.in(1), c.dy(0)), nil}
	}
	// EmbeddingGrad reads only the shape of the table.
	rules[ir.EmbeddingGrad] = func(c *vjp) []*Tensor {
		return []*Tensor{nil, nil, apply1(ir.Embedding, nil, c.dy(0), c.in(1))}
	}
	rules[ir.Scatter] = scatterRule
}
