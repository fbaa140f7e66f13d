package stablehlo

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Reshape] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.reshape(in[0], n.Attrs.(ir.ReshapeAttrs).Shape...)}
	}
	lowerings[ir.Transpose] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.transpose(in[0], n.Attrs.(ir.TransposeAttrs).Perm)}
	}
	lowerings[ir.Broadcast] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.BroadcastAttrs)
		return []value{e.broadcast(in[0], a.Shape, a.Axes...)}
	}
	lowerings[ir.Slice] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.SliceAttrs)
		return []value{e.slice(in[0], a.Start, a.Limit, a.Stride)}
	}
	lowerings[ir.Pad] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.PadAttrs)
		return []value{e.pad(in[0], in[1], a.Low, a.High, a.Interior)}
	}
	lowerings[ir.Concat] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.concat(n.Attrs.(ir.AxisAttrs).Axis, in...)}
	}
	lowerings[ir.Reverse] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.reverse(in[0], n.Attrs.(ir.AxesAttrs).Axes)}
	}
	lowerings[ir.BitCast] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.bitCast(in[0], n.Attrs.(ir.ConvertAttrs).DType)}
	}
	lowerings[ir.DynamicSlice] = func(e *emitter, n *ir.Node, in []value) []value {
		sizes := n.Attrs.(ir.DynamicSliceAttrs).Sizes
		return []value{e.dynamicSlice(in[0], e.startsInside(in[0].shape(), sizes, in[1:]), sizes)}
	}
	lowerings[ir.DynamicUpdateSlice] = func(e *emitter, _ *ir.Node, in []value) []value {
		return []value{e.dynamicUpdateSlice(in[0], in[1], e.startsInside(in[0].shape(), in[1].shape(), in[2:]))}
	}
}

func (e *emitter) reshape(x value, shape ...int) value {
	t := ir.Type{DType: x.dtype(), Shape: shape}
	if t.Equal(x.typ) {
		return x
	}
	return e.definef(t, "stablehlo.reshape %s : (%s) -> %s", x.name, tensor(x.typ), tensor(t))
}

// bitCast reads the bytes of x as another type. If sizes differ, the elements that make up one are an axis of their own
// in StableHLO.
func (e *emitter) bitCast(x value, dtype ir.DType) value {
	from, to := x.dtype().Size(), dtype.Size()
	shape := x.shape().Clone()
	cast := func(x value, shape ir.Shape) value {
		t := ir.Type{DType: dtype, Shape: shape}
		return e.definef(t, "stablehlo.bitcast_convert %s : (%s) -> %s", x.name, tensor(x.typ), tensor(t))
	}
	last := len(shape) - 1
	switch {
	case from > to:
		parts := cast(x, append(shape.Clone(), from/to))
		shape[last] *= from / to
		return e.reshape(parts, shape...)
	case from < to:
		shape[last] /= to / from
		return cast(e.reshape(x, append(shape.Clone(), to/from)...), shape)
	}
	return cast(x, shape)
}

func (e *emitter) transpose(x value, perm []int) value {
	t := ir.Type{DType: x.dtype(), Shape: make(ir.Shape, len(perm))}
	for i, axis := range perm {
		t.Shape[i] = x.shape()[axis]
	}
	return e.definef(t, "stablehlo.transpose %s, dims = %s : (%s) -> %s", x.name, list(perm), tensor(x.typ), tensor(t))
}

// broadcast repeats x; axis i of x becomes axis axes[i] of the result.
func (e *emitter) broadcast(x value, shape ir.Shape, axes ...int) value {
	t := ir.Type{DType: x.dtype(), Shape: shape}
	return e.definef(t, "stablehlo.broadcast_in_dim %s, dims = %s : (%s) -> %s", x.name, list(axes), tensor(x.typ), tensor(t))
}

func (e *emitter) slice(x value, start, limit, stride []int) value {
	t := ir.Type{DType: x.dtype(), Shape: make(ir.Shape, len(start))}
	for i := range start {
		t.Shape[i] = max(0, (limit[i]-start[i]+stride[i]-1)/stride[i])
	}
	return e.general("slice", []value{x}, "limit_indices = "+array(limit)+", start_indices = "+array(start)+", strides = "+array(stride), "", []ir.Type{t})[0]
}

// pad adds low and high elements at the ends of each axis, or cuts them off if negative, and adds interior ones between
// neighbours. In programs that are divided over devices, the cut is a separate operation, because XLA's partitioner
// ends the process if an operation does both.
func (e *emitter) pad(x, with value, low, high, interior []int) value {
	negative := func(n int) bool { return n < 0 }
	if e.partitions > 1 && (slices.ContainsFunc(low, negative) || slices.ContainsFunc(high, negative)) {
		return e.padAndCut(x, with, low, high, interior)
	}
	t := ir.Type{DType: x.dtype(), Shape: make(ir.Shape, len(low))}
	for i, d := range x.shape() {
		t.Shape[i] = low[i] + high[i] + d + max(d-1, 0)*interior[i]
	}
	return e.definef(t, "stablehlo.pad %s, %s, low = %s, high = %s, interior = %s : (%s, %s) -> %s", x.name, with.name, list(low), list(high), list(interior), tensor(x.typ), tensor(with.typ), tensor(t))
}

func (e *emitter) padAndCut(x, with value, low, high, interior []int) value {
	more := [2][]int{make([]int, len(low)), make([]int, len(low))}
	for i := range low {
		more[0][i], more[1][i] = max(low[i], 0), max(high[i], 0)
	}
	wide := e.pad(x, with, more[0], more[1], interior)
	start, limit, stride := make([]int, len(low)), make([]int, len(low)), make([]int, len(low))
	for i, n := range wide.shape() {
		start[i], limit[i], stride[i] = max(-low[i], 0), n-max(-high[i], 0), 1
	}
	return e.slice(wide, start, limit, stride)
}

func (e *emitter) concat(axis int, in ...value) value {
	t := ir.Type{DType: in[0].dtype(), Shape: in[0].shape().Clone()}
	for _, v := range in[1:] {
		t.Shape[axis] += v.shape()[axis]
	}
	return e.definef(t, "stablehlo.concatenate %s, dim = %d : (%s) -> %s", names(in), axis, tensors(typesOf(in)), tensor(t))
}

func (e *emitter) reverse(x value, axes []int) value {
	return e.definef(x.typ, "stablehlo.reverse %s, dims = %s : %s", x.name, list(axes), tensor(x.typ))
}

func (e *emitter) dynamicSlice(x value, starts []value, sizes []int) value {
	if len(sizes) == 0 { // nothing to cut
		return x
	}
	t := ir.Type{DType: x.dtype(), Shape: slices.Clone(sizes)}
	return e.general("dynamic_slice", append([]value{x}, starts...), "slice_sizes = "+array(sizes), "", []ir.Type{t})[0]
}

// startsInside moves the starts of a slice so that all of it is inside, in programs that are divided over devices.
// StableHLO says that its operations do so, but XLA's partitioners forget it for updates, and write these elsewhere or
// not at all.
func (e *emitter) startsInside(shape, sizes ir.Shape, starts []value) []value {
	if e.partitions <= 1 {
		return starts
	}
	moved, common := make([]value, len(starts)), ir.Int32
	for i, start := range starts {
		moved[i] = e.clamp(start, shape[i]-sizes[i]+1)
		if moved[i].dtype() == ir.Int64 { // a long axis
			common = ir.Int64
		}
	}
	for i := range moved {
		moved[i] = e.convert(moved[i], common)
	}
	return moved
}

func (e *emitter) dynamicUpdateSlice(x, update value, starts []value) value {
	if len(starts) == 0 {
		return update
	}
	return e.general("dynamic_update_slice", append([]value{x, update}, starts...), "", "", []ir.Type{x.typ})[0]
}
