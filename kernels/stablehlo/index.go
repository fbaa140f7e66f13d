package stablehlo

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Gather] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.GatherAttrs)
		return []value{e.gather(n, a.Axis, a.Mode, in[0], in[1])}
	}
	lowerings[ir.Scatter] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.ScatterAttrs)
		if a.Kind == ir.Set {
			return []value{e.scatterSet(n, a, in[0], in[1], in[2])}
		}
		return []value{e.inWide(a.Kind, func(in []value) value {
			indices := e.targets(n, a, in[0].shape()[a.Axis], in[1])
			return e.scatter(a.Kind, a.Axis, in[0], indices, in[2])
		}, in[0], in[1], in[2])}
	}
}

// gather cuts out of x the slices at the given indices along an axis. An index outside is an error, is clipped to the
// nearest one, or reads zeros.
func (e *emitter) gather(n *ir.Node, axis int, mode ir.IndexMode, x, indices value) value {
	length := x.shape()[axis]
	shape := append(append(x.shape()[:axis].Clone(), indices.shape()...), x.shape()[axis+1:]...)
	t := ir.Type{DType: x.dtype(), Shape: shape}
	inside := e.inside(indices, length)
	if mode == ir.IndexError {
		e.check(Check{Scope: n.Scope, Op: n.Op, Axis: axis, Length: length}, indices, inside)
	}
	if length == 0 || shape.Size() == 0 {
		return e.splat(t, 0)
	}
	y := e.take(axis, x, e.clamp(indices, length))
	if mode != ir.IndexDrop {
		return y
	}
	axes := make([]int, len(indices.shape()))
	for i := range axes {
		axes[i] = axis + i
	}
	return e.choose(e.broadcast(inside, shape, axes...), y, e.splat(t, 0))
}

// clamp brings indices into an axis that is not empty, as int32 (int64 for long axes).
func (e *emitter) clamp(indices value, length int) value {
	if indices.dtype().Size() < 4 {
		indices = e.convert(indices, ir.Int32)
	}
	if indices.dtype().IsSigned() {
		indices = e.binary("maximum", indices, e.like(indices, 0))
	}
	if indices.dtype() != ir.Int32 || length <= math.MaxInt32 {
		indices = e.binary("minimum", indices, e.like(indices, float64(length-1)))
	}
	if length <= math.MaxInt32 {
		return e.convert(indices, ir.Int32)
	}
	return e.convert(indices, ir.Int64)
}

// take gathers with indices that lie within the axis.
func (e *emitter) take(axis int, x, indices value) value {
	rank, extra := len(x.shape()), len(indices.shape())
	t := ir.Type{DType: x.dtype(), Shape: append(append(x.shape()[:axis].Clone(), indices.shape()...), x.shape()[axis+1:]...)}
	var offsets []int
	sizes := x.shape().Clone()
	sizes[axis] = 1
	for i := range rank - 1 {
		if i < axis {
			offsets = append(offsets, i)
		} else {
			offsets = append(offsets, i+extra)
		}
	}
	numbers := fmt.Sprintf("#stablehlo.gather<offset_dims = %s, collapsed_slice_dims = [%d], start_index_map = [%d], index_vector_dim = %d>", list(offsets), axis, axis, extra)
	properties := "dimension_numbers = " + numbers + ", indices_are_sorted = false, slice_sizes = " + array(sizes)
	return e.general("gather", []value{x, indices}, properties, "", []ir.Type{t})[0]
}

// targets makes indices for a scatter: in range, or one past the end, where nothing is written.
func (e *emitter) targets(n *ir.Node, a ir.ScatterAttrs, length int, indices value) value {
	inside := e.inside(indices, length)
	if a.Mode == ir.IndexError {
		e.check(Check{Scope: n.Scope, Op: n.Op, Axis: a.Axis, Length: length}, indices, inside)
	}
	if length == 0 {
		return e.splat(ir.Type{DType: ir.Int32, Shape: indices.shape()}, 0)
	}
	clamped := e.clamp(indices, length)
	if a.Mode == ir.IndexClip {
		return clamped
	}
	return e.choose(inside, clamped, e.like(clamped, float64(length)))
}

// scatter combines updates with the elements of x at the indices; an index outside writes nothing.
func (e *emitter) scatter(kind ir.Kind, axis int, x, indices, updates value) value {
	if updates.shape().Size() == 0 || x.shape().Size() == 0 {
		return x
	}
	rank, extra := len(x.shape()), len(indices.shape())
	var windows []int
	for i := range rank - 1 {
		if i < axis {
			windows = append(windows, i)
		} else {
			windows = append(windows, i+extra)
		}
	}
	numbers := fmt.Sprintf("#stablehlo.scatter<update_window_dims = %s, inserted_window_dims = [%d], scatter_dims_to_operand_dims = [%d], index_vector_dim = %d>", list(windows), axis, axis, extra)
	properties := "indices_are_sorted = false, scatter_dimension_numbers = " + numbers + ", unique_indices = false"
	return e.general("scatter", []value{x, indices, updates}, properties, e.combine(kind, x.dtype()), []ir.Type{x.typ})[0]
}

// scatterSet lets the last update of an element win. StableHLO leaves open which one does. So the updates are numbered,
// the largest number at each position is determined, and that update is taken.
func (e *emitter) scatterSet(n *ir.Node, a ir.ScatterAttrs, x, indices, updates value) value {
	length, count := x.shape()[a.Axis], indices.shape().Size()
	targets := e.targets(n, a, length, indices)
	if updates.shape().Size() == 0 || x.shape().Size() == 0 {
		return x
	}
	numbers := e.iota(ir.Type{DType: ir.Int32, Shape: ir.Shape{count}}, 0)
	none := e.splat(ir.Type{DType: ir.Int32, Shape: ir.Shape{length}}, -1)
	winners := e.scatter(ir.Max, 0, none, e.reshape(targets, count), numbers)
	flat := append(append(x.shape()[:a.Axis].Clone(), count), x.shape()[a.Axis+1:]...)
	taken := e.take(a.Axis, e.reshape(updates, flat...), e.binary("maximum", winners, e.like(winners, 0)))
	written := e.compare(ir.Ge, winners, e.like(winners, 0))
	return e.choose(e.broadcast(written, x.shape(), a.Axis), taken, x)
}
