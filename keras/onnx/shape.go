package onnx

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// writeReshape writes a new shape. A single open length is left to ONNX to infer.
func writeReshape(b *builder, n *ir.Node) error {
	x, v := n.Inputs[0], n.Outputs[0]
	dims := b.dims(v)
	if o := b.operands[x]; o.loose && o.rank == 0 { // a single number repeated over the whole shape
		b.operands[v] = o
		return nil
	}
	in, err := b.full(x)
	if err != nil {
		return err
	}
	open := 0
	target := make([]int, len(dims))
	for i, d := range dims {
		if target[i] = d; !dim.Known(d) {
			target[i] = -1
			open++
		}
	}
	shape := ""
	if open <= 1 {
		shape = b.vector(target...)
	} else if shape, err = b.shape(dims); err != nil {
		return err
	}
	var attributes []attribute
	if open == 0 && slices.Contains(target, 0) {
		attributes = append(attributes, attribute{"allowzero", 1}) // otherwise 0 means "unchanged"
	}
	b.set(v, b.add("Reshape", list(in, shape), attributes...))
	return nil
}

func writeTranspose(b *builder, n *ir.Node) error {
	x := n.Inputs[0]
	if o := b.operands[x]; o.loose && o.rank == 0 {
		b.operands[n.Outputs[0]] = o
		return nil
	}
	in, err := b.full(x)
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.transpose(in, n.Attrs.(ir.TransposeAttrs).Perm...))
	return nil
}

func (b *builder) transpose(name string, perm ...int) string {
	return b.add("Transpose", list(name), attribute{"perm", perm})
}

// writeBroadcast adds axes of length 1, and leaves the repetition to the operations that use the result.
func writeBroadcast(b *builder, n *ir.Node) error {
	x, v := n.Inputs[0], n.Outputs[0]
	axes := n.Attrs.(ir.BroadcastAttrs).Axes
	rank := b.trace.Type(v).Shape.Rank()
	o, ok := b.operands[x]
	if !ok || o.loose && o.rank > 0 && o.rank < len(axes) {
		if _, err := b.full(x); err != nil {
			return err
		}
		o = b.operands[x]
	}
	if slices.Equal(b.dims(x), b.dims(v)) {
		b.operands[v] = o
		return nil
	}
	var missing []int
	trailing := true
	for i := range rank {
		if !slices.Contains(axes, i) {
			missing = append(missing, i)
			trailing = trailing && i < rank-len(axes)
		}
	}
	if o.rank > 0 && !trailing {
		o.name, o.rank = b.add("Unsqueeze", list(o.name, b.vector(missing...))), rank
	}
	o.loose = true
	b.operands[v] = o
	return nil
}

func writeSlice(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.SliceAttrs)
	start, limit := a.Start, slices.Clone(a.Limit)
	stride, err := b.fixedInts("stride", a.Stride...)
	if err != nil {
		return err
	}
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	var axes, steps []int
	var from, to []int
	for i, d := range b.dims(n.Inputs[0]) {
		whole := limit[i] == d
		if whole && start[i] == 0 && stride[i] == 1 {
			continue
		}
		if whole {
			limit[i] = maxInt64
		}
		axes, steps, from, to = append(axes, i), append(steps, stride[i]), append(from, start[i]), append(to, limit[i])
	}
	if len(axes) == 0 {
		b.set(n.Outputs[0], in)
		return nil
	}
	begin, err := b.shape(from)
	if err != nil {
		return err
	}
	end, err := b.shape(to)
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.add("Slice", list(in, begin, end, b.vector(axes...), b.vector(steps...))))
	return nil
}

func writePad(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.PadAttrs)
	interior, err := b.fixedInts("padding", a.Interior...)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(interior, func(i int) bool { return i != 0 }) {
		return b.errorf("ONNX pads at the ends only, not between elements")
	}
	pads, err := b.shape(slices.Concat(a.Low, a.High))
	if err != nil {
		return err
	}
	in, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.add("Pad", list(in[0], pads, in[1])))
	return nil
}

func writeConcat(b *builder, n *ir.Node) error {
	in, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.add("Concat", in, attribute{"axis", n.Attrs.(ir.AxisAttrs).Axis}))
	return nil
}

func writeReverse(b *builder, n *ir.Node) error {
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	axes := n.Attrs.(ir.AxesAttrs).Axes
	if len(axes) == 0 {
		b.set(n.Outputs[0], in)
		return nil
	}
	all := func(v int) string { return b.vector(slices.Repeat([]int{v}, len(axes))...) }
	b.set(n.Outputs[0], b.add("Slice", list(in, all(-1), all(-maxInt64-1), b.vector(axes...), all(-1))))
	return nil
}

// writeIota writes 0, 1, 2, ... along one axis.
func writeIota(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.IotaAttrs)
	v := n.Outputs[0]
	d := b.dims(v)[a.Axis]
	rank := a.Type.Shape.Rank()
	name := ""
	if dim.Known(d) {
		var data []byte
		for i := range d {
			data = ir.AppendElement(data, a.Type.DType, float64(i))
		}
		name = b.constant(a.Type.DType, []int{d}, data)
	} else {
		length, err := b.length(d)
		if err != nil {
			return err
		}
		name = b.add("Range", list(b.scalar(ir.Int64, 0), b.add("Squeeze", list(length)), b.scalar(ir.Int64, 1)))
		if a.Type.DType != ir.Int64 {
			name = b.cast(name, a.Type.DType)
		}
	}
	o := operand{name: name, rank: 1, loose: rank > 1}
	if a.Axis < rank-1 {
		var after []int
		for i := a.Axis + 1; i < rank; i++ {
			after = append(after, i-a.Axis)
		}
		o.name, o.rank = b.add("Unsqueeze", list(name, b.vector(after...))), rank-a.Axis
	}
	b.operands[v] = o
	return nil
}

// starts concatenates the scalar starts of a dynamic slice, clamped so that the slice fits.
func (b *builder) starts(scalars []ir.Value, x ir.Value, sizes []int) (starts string, lengths string, err error) {
	names, err := b.fullAll(scalars)
	if err != nil {
		return "", "", err
	}
	for i, name := range names {
		names[i] = b.add("Unsqueeze", list(b.cast(name, ir.Int64), b.vector(0)))
	}
	joined := b.add("Concat", names, attribute{"axis", 0})
	if lengths, err = b.shape(sizes); err != nil {
		return "", "", err
	}
	whole, err := b.shape(b.dims(x))
	if err != nil {
		return "", "", err
	}
	room := b.add("Sub", list(whole, lengths))
	return b.add("Max", list(b.add("Min", list(joined, room)), b.scalar(ir.Int64, 0))), lengths, nil
}

func writeDynamicSlice(b *builder, n *ir.Node) error {
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	if len(n.Inputs) == 1 { // a scalar
		b.set(n.Outputs[0], in)
		return nil
	}
	starts, lengths, err := b.starts(n.Inputs[1:], n.Inputs[0], b.dims(n.Outputs[0]))
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.add("Slice", list(in, starts, b.add("Add", list(starts, lengths)))))
	return nil
}

// writeDynamicUpdateSlice pads the update to the whole shape, and selects it by a mask that is padded likewise.
func writeDynamicUpdateSlice(b *builder, n *ir.Node) error {
	x, update := n.Inputs[0], n.Inputs[1]
	in, err := b.fullAll(n.Inputs[:2])
	if err != nil {
		return err
	}
	if len(n.Inputs) == 2 { // scalars
		b.set(n.Outputs[0], in[1])
		return nil
	}
	starts, lengths, err := b.starts(n.Inputs[2:], x, b.dims(update))
	if err != nil {
		return err
	}
	whole, err := b.shape(b.dims(x))
	if err != nil {
		return err
	}
	after := b.add("Sub", list(b.add("Sub", list(whole, lengths)), starts))
	pads := b.add("Concat", list(starts, after), attribute{"axis", 0})
	d := b.dtype(x)
	padded := b.add("Pad", list(in[1], pads, b.scalar(d, 0)))
	ones := b.add("Expand", list(b.scalar(ir.Float32, 1), lengths))
	mask := b.cast(b.add("Pad", list(ones, pads, b.scalar(ir.Float32, 0))), ir.Bool)
	name, err := writeSelect(b, n, list(mask, padded, in[0]))
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], name)
	return nil
}
