package onnx

import (
	"math"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// writeDot writes a contraction: as MatMul if its axes allow that, otherwise as Einsum.
func writeDot(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.DotAttrs)
	in, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	x, y := b.trace.Type(n.Inputs[0]).Shape.Rank(), b.trace.Type(n.Inputs[1]).Shape.Rank()
	batch := len(a.LhsBatch)
	leading := slices.Equal(a.LhsBatch, count(batch)) && slices.Equal(a.RhsBatch, count(batch))
	if len(a.LhsContract) == 1 && leading && x > batch && y == batch+2 && (batch == 0 || x == batch+2) {
		left, right := in[0], in[1]
		plain := true
		switch {
		case a.LhsContract[0] == x-1:
		case x == batch+2:
			left = b.transpose(left, append(count(batch), batch+1, batch)...)
		default:
			plain = false
		}
		if plain {
			if a.RhsContract[0] == batch+1 {
				right = b.transpose(right, append(count(batch), batch+1, batch)...)
			}
			b.set(n.Outputs[0], b.add("MatMul", list(left, right)))
			return nil
		}
	}
	b.set(n.Outputs[0], b.add("Einsum", in, attribute{"equation", equation(a, x, y)}))
	return nil
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// equation writes a contraction with a letter for each axis. In the result, batch axes come first, then the remaining
// axes of the left operand, then those of the right.
func equation(a ir.DotAttrs, x, y int) string {
	left, right := make([]byte, x), make([]byte, y)
	next := byte('a')
	name := func(lhs, rhs []int) {
		for i := range lhs {
			left[lhs[i]], right[rhs[i]] = next, next
			next++
		}
	}
	name(a.LhsBatch, a.RhsBatch)
	batch := string([]byte("abcdefghijklmnopqrstuvwxyz")[:len(a.LhsBatch)])
	name(a.LhsContract, a.RhsContract)
	var result strings.Builder
	result.WriteString(batch)
	for _, letters := range [][]byte{left, right} {
		for i, c := range letters {
			if c == 0 {
				letters[i] = next
				result.WriteByte(next)
				next++
			}
		}
	}
	return string(left) + "," + string(right) + "->" + result.String()
}

// indices converts indices to a type that ONNX accepts, wrapped into the axis or clipped as the mode says. mask is ""
// or says which indices are inside.
func (b *builder) indices(v ir.Value, length int, mode ir.IndexMode) (name, mask string, err error) {
	if name, err = b.full(v); err != nil {
		return "", "", err
	}
	if d := b.dtype(v); d != ir.Int64 {
		name = b.cast(name, ir.Int64)
	}
	if mode == ir.IndexError {
		return name, "", nil
	}
	end, err := b.length(length)
	if err != nil {
		return "", "", err
	}
	if b.trace.Type(v).Shape.Rank() == 0 { // so that a single index stays one
		end = b.add("Squeeze", list(end))
	}
	zero := b.scalar(ir.Int64, 0)
	if mode == ir.IndexDrop {
		mask = b.add("And", list(b.add("GreaterOrEqual", list(name, zero)), b.add("Less", list(name, end))))
	}
	last := b.add("Sub", list(end, b.scalar(ir.Int64, 1)))
	return b.add("Max", list(b.add("Min", list(name, last)), zero)), mask, nil
}

func writeGather(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.GatherAttrs)
	x, v := n.Inputs[0], n.Outputs[0]
	in, err := b.full(x)
	if err != nil {
		return err
	}
	index, mask, err := b.indices(n.Inputs[1], b.dims(x)[a.Axis], a.Mode)
	if err != nil {
		return err
	}
	name := b.add("Gather", list(in, index), attribute{"axis", a.Axis})
	if mask != "" {
		after := b.trace.Type(x).Shape.Rank() - a.Axis - 1
		if after > 0 {
			rank := b.trace.Type(n.Inputs[1]).Shape.Rank()
			axes := make([]int, after)
			for i := range axes {
				axes[i] = rank + i
			}
			mask = b.add("Unsqueeze", list(mask, b.vector(axes...)))
		}
		if name, err = writeSelect(b, n, list(mask, name, b.scalar(b.dtype(v), 0))); err != nil {
			return err
		}
	}
	b.set(v, name)
	return nil
}

func writeEmbedding(b *builder, n *ir.Node) error {
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	index, _, err := b.indices(n.Inputs[1], 0, ir.IndexError)
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.add("Gather", list(in, index), attribute{"axis", 0}))
	return nil
}

// writeScatter turns the axis to the front, where ONNX scatters. Indices that are dropped go to a row more at the end,
// which is cut off.
func writeScatter(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.ScatterAttrs)
	kind, known := map[ir.Kind]string{ir.Set: "none", ir.Sum: "add", ir.Prod: "mul", ir.Max: "max", ir.Min: "min"}[a.Kind]
	if !known {
		return b.errorf("ONNX does not scatter with kind %q", a.Kind)
	}
	in, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	d, dims, rank := b.dtype(n.Inputs[0]), b.dims(n.Inputs[0]), b.trace.Type(n.Inputs[1]).Shape.Rank()
	index, mask, err := b.indices(n.Inputs[1], dims[a.Axis], a.Mode)
	if err != nil {
		return err
	}
	x, updates := b.toFront(in[0], len(dims), a.Axis, 1), b.toFront(in[2], len(dims)-1+rank, a.Axis, rank)
	var end string
	if mask != "" {
		if end, err = b.length(dims[a.Axis]); err != nil {
			return err
		}
		one := make([]int, 2*len(dims))
		one[len(dims)] = 1
		x = b.add("Pad", list(x, b.vector(one...), b.scalar(d, 0)))
		outside := end
		if rank == 0 {
			outside = b.add("Squeeze", list(end))
		}
		index = b.add("Where", list(mask, index, outside))
	}
	index = b.add("Unsqueeze", list(index, b.vector(rank)))
	if d.IsHalf() && a.Kind != ir.Set { // ONNX Runtime combines none of 16 bits
		x = b.cast(b.add("ScatterND", list(b.cast(x, ir.Float32), index, b.cast(updates, ir.Float32)), attribute{"reduction", kind}), d)
	} else {
		x = b.add("ScatterND", list(x, index, updates), attribute{"reduction", kind})
	}
	if mask != "" {
		x = b.add("Slice", list(x, b.vector(0), end, b.vector(0)))
	}
	if a.Axis > 0 {
		back := make([]int, len(dims))
		for i := range back {
			switch {
			case i < a.Axis:
				back[i] = i + 1
			case i > a.Axis:
				back[i] = i
			}
		}
		x = b.add("Transpose", list(x), attribute{"perm", back})
	}
	b.set(n.Outputs[0], x)
	return nil
}

// toFront transposes x so that n axes, from axis on, come first.
func (b *builder) toFront(x string, rank, axis, n int) string {
	if axis == 0 || n == 0 {
		return x
	}
	var order []int
	for i := range rank {
		order = append(order, i)
	}
	order = slices.Concat(order[axis:axis+n], order[:axis], order[axis+n:])
	return b.add("Transpose", list(x), attribute{"perm", order})
}

func writeReduce(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.ReduceAttrs)
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	if len(a.Axes) == 0 {
		b.set(n.Outputs[0], in)
		return nil
	}
	op, known := map[ir.Kind]string{ir.Sum: "ReduceSum", ir.Prod: "ReduceProd", ir.Max: "ReduceMax", ir.Min: "ReduceMin", ir.Or: "ReduceMax", ir.And: "ReduceMin"}[a.Kind]
	if !known {
		return b.errorf("ONNX has no reduction of kind %q", a.Kind)
	}
	logical := b.dtype(n.Inputs[0]) == ir.Bool
	if logical {
		in = b.cast(in, ir.Int32)
	}
	name := b.add(op, list(in, b.vector(a.Axes...)), attribute{"keepdims", 0})
	if logical {
		name = b.cast(name, ir.Bool)
	}
	b.set(n.Outputs[0], name)
	return nil
}

func writeArg(b *builder, n *ir.Node) error {
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	op := map[ir.Op]string{ir.ArgMax: "ArgMax", ir.ArgMin: "ArgMin"}[n.Op]
	name := b.add(op, list(in), attribute{"axis", n.Attrs.(ir.AxisAttrs).Axis}, attribute{"keepdims", 0})
	b.set(n.Outputs[0], b.cast(name, ir.Int32))
	return nil
}

// writeCumulative writes a running sum, or reduces, for each position, the elements up to it.
func writeCumulative(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.CumulativeAttrs)
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	if a.Kind == ir.Sum {
		flag := map[bool]int{true: 1}
		b.set(n.Outputs[0], b.add("CumSum", list(in, b.scalar(ir.Int64, float64(a.Axis))), attribute{"exclusive", flag[a.Exclusive]}, attribute{"reverse", flag[a.Reverse]}))
		return nil
	}
	op, known := map[ir.Kind]string{ir.Prod: "ReduceProd", ir.Max: "ReduceMax", ir.Min: "ReduceMin"}[a.Kind]
	if !known {
		return b.errorf("ONNX has no running reduction of kind %q", a.Kind)
	}
	dims := b.dims(n.Inputs[0])
	length, err := b.length(dims[a.Axis])
	if err != nil {
		return err
	}
	position := b.add("Range", list(b.scalar(ir.Int64, 0), b.add("Squeeze", list(length)), b.scalar(ir.Int64, 1)))
	var after []int // axes behind the one along which it runs
	for i := a.Axis + 1; i < len(dims); i++ {
		after = append(after, i-a.Axis+1)
	}
	of, from := b.add("Unsqueeze", list(position, b.vector(1))), b.add("Unsqueeze", list(position, b.vector(0)))
	if a.Reverse {
		of, from = from, of
	}
	counts := b.add(map[bool]string{false: "LessOrEqual", true: "Less"}[a.Exclusive], list(from, of))
	if len(after) > 0 {
		counts = b.add("Unsqueeze", list(counts, b.vector(after...)))
	}
	neutral := b.scalar(b.dtype(n.Inputs[0]), map[ir.Kind]float64{ir.Prod: 1, ir.Max: math.Inf(-1), ir.Min: math.Inf(1)}[a.Kind])
	rows := b.add("Where", list(counts, b.add("Unsqueeze", list(in, b.vector(a.Axis))), neutral))
	b.set(n.Outputs[0], b.add(op, list(rows, b.vector(a.Axis+1)), attribute{"keepdims", 0}))
	return nil
}

func writeSort(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.SortAttrs)
	return b.topK(n, b.dims(n.Inputs[0])[a.Axis], a.Axis, a.Descending)
}

func writeTopK(b *builder, n *ir.Node) error {
	return b.topK(n, n.Attrs.(ir.TopKAttrs).K, -1, true)
}

func (b *builder) topK(n *ir.Node, k int, axis int, largest bool) error {
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	length, err := b.length(k)
	if err != nil {
		return err
	}
	flag := map[bool]int{true: 1}
	out := b.addAll("TopK", 2, list(in, length), attribute{"axis", axis}, attribute{"largest", flag[largest]}, attribute{"sorted", 1})
	b.set(n.Outputs[0], out[0])
	b.set(n.Outputs[1], b.cast(out[1], ir.Int32))
	return nil
}
