package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// VectorizedMap computes f for all slices of xs along axis 0 at once and stacks the results along a new axis 0, as
// keras.ops.vectorized_map does: f is traced for one slice, and each of its operations is added for all slices. It
// needs the memory of all slices. If f has an operation that cannot be widened (a lookup of a slice in a slice, a
// convolution, a loop, dropout, a custom gradient), it runs slice by slice, as Map does. Other tensors that f uses are
// the same for all slices. It is differentiable.
func VectorizedMap(f func(xs []*Tensor) []*Tensor, xs ...*Tensor) []*Tensor {
	loop := traceMap("vectorized_map", f, xs)
	if len(loop.body.custom) > 0 || !widensAll(loop.body.program, len(xs)) {
		_, ys := loop.add()
		return ys
	}
	w := widening{g: loop.g, length: loop.length, values: map[ir.Value]mapped{}}
	for i, in := range loop.body.inputValues()[:len(xs)] {
		w.values[in] = mapped{xs[i], true}
	}
	for _, c := range loop.body.captured {
		w.values[c.inner] = mapped{c.outer, false}
	}
	for i := range loop.body.program.Nodes {
		w.node(&loop.body.program.Nodes[i])
	}
	ys := make([]*Tensor, len(loop.out))
	for i, v := range loop.out {
		ys[i] = w.wide(w.values[v])
	}
	return ys
}

// mapped stands for a value of the function: a tensor with an axis 0 of slices in front, or one that is the same for
// all.
type mapped struct {
	t   *Tensor
	any bool // differs between slices
}

// widening adds the operations of a function of one slice for all slices.
type widening struct {
	g      *Graph
	length int
	values map[ir.Value]mapped
}

// widensAll reports whether all operations of a program can be widened if its first inputs differ between slices.
func widensAll(p *ir.Program, inputs int) bool {
	differs := map[ir.Value]bool{}
	for _, in := range p.Inputs[:inputs] {
		differs[in.Value] = true
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		any := slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return differs[v] })
		if any && !widens(n, differs) {
			return false
		}
		for _, v := range n.Outputs {
			differs[v] = any
		}
	}
	return true
}

// widens reports whether a node with an operand that differs between slices can be widened.
func widens(n *ir.Node, differs map[ir.Value]bool) bool {
	switch n.Op {
	case ir.Broadcast, ir.Reshape, ir.Transpose, ir.Reduce, ir.Slice, ir.Reverse, ir.Concat, ir.Dot, ir.ArgMax, ir.ArgMin, ir.Cumulative, ir.Sort, ir.TopK,
		ir.Softmax, ir.LogSoftmax:
		return true
	case ir.Pad:
		return !differs[n.Inputs[1]]
	case ir.Embedding:
		return !differs[n.Inputs[0]]
	case ir.PackedEmbedding:
		return !differs[n.Inputs[0]] && !slices.ContainsFunc(n.Inputs[2:], func(v ir.Value) bool { return differs[v] })
	case ir.LayerNorm:
		return !differs[n.Inputs[1]] && !differs[n.Inputs[2]]
	case ir.Gather:
		return differs[n.Inputs[0]] != differs[n.Inputs[1]] && (n.Attrs.(ir.GatherAttrs).Axis == 0 || differs[n.Inputs[0]])
	}
	return n.Op.IsElementwise()
}

// node adds a node.
func (w *widening) node(n *ir.Node) {
	in := make([]mapped, len(n.Inputs))
	for i, v := range n.Inputs {
		in[i] = w.values[v]
	}
	any := slices.ContainsFunc(in, func(s mapped) bool { return s.any })
	operands := make([]*Tensor, len(in))
	for i, s := range in {
		operands[i] = s.t
		if any && (n.Op.IsElementwise() || n.Op == ir.Concat) {
			operands[i] = w.wide(s)
		}
	}
	var out []*Tensor
	switch {
	case any && n.Op == ir.Dot:
		out = []*Tensor{w.dot(n.Attrs.(ir.DotAttrs), in)}
	case any:
		out = w.g.add(n.Op, w.attrs(n, in), operands...)
	default:
		out = w.g.add(n.Op, n.Attrs, operands...)
	}
	for i, v := range n.Outputs {
		w.values[v] = mapped{out[i], any}
	}
}

// wide returns the tensor of all slices.
func (w *widening) wide(s mapped) *Tensor {
	if s.any {
		return s.t
	}
	shape := s.t.Shape()
	return w.g.add(ir.Broadcast, ir.BroadcastAttrs{Shape: w.shape(shape), Axes: span(1, len(shape))}, s.t)[0]
}

// shape is the shape of all slices.
func (w *widening) shape(s ir.Shape) ir.Shape { return append(ir.Shape{w.length}, s...) }

// attrs returns the node's attributes for operands with one more axis in front.
func (w *widening) attrs(n *ir.Node, in []mapped) ir.Attrs {
	switch a := n.Attrs.(type) {
	case ir.BroadcastAttrs:
		return ir.BroadcastAttrs{Shape: w.shape(a.Shape), Axes: moved(a.Axes, true)}
	case ir.ReshapeAttrs:
		return ir.ReshapeAttrs{Shape: w.shape(a.Shape)}
	case ir.TransposeAttrs:
		return ir.TransposeAttrs{Perm: moved(a.Perm, true)}
	case ir.ReduceAttrs:
		a.Axes = moved(a.Axes, false)
		return a
	case ir.SliceAttrs:
		return ir.SliceAttrs{Start: withFirst(0, a.Start), Limit: w.shape(a.Limit), Stride: withFirst(1, a.Stride)}
	case ir.PadAttrs:
		return ir.PadAttrs{Low: withFirst(0, a.Low), High: withFirst(0, a.High), Interior: withFirst(0, a.Interior)}
	case ir.AxisAttrs:
		return ir.AxisAttrs{Axis: a.Axis + 1}
	case ir.AxesAttrs:
		return ir.AxesAttrs{Axes: moved(a.Axes, false)}
	case ir.CumulativeAttrs:
		a.Axis++
		return a
	case ir.SortAttrs:
		a.Axis++
		return a
	case ir.GatherAttrs:
		if in[0].any {
			a.Axis++
		}
		return a
	}
	return n.Attrs
}

// moved returns the axes shifted up by one, with axis 0 in front of them if first is set.
func moved(axes []int, first bool) []int {
	out := make([]int, 0, len(axes)+1)
	if first {
		out = append(out, 0)
	}
	for _, axis := range axes {
		out = append(out, axis+1)
	}
	return out
}

// withFirst puts a number in front of others.
func withFirst(first int, list []int) []int { return append([]int{first}, list...) }

// dot adds a product. If both operands have slices, these are one more batch axis. If only one has, they are rows or
// columns, which are moved to the front of the result.
func (w *widening) dot(a ir.DotAttrs, in []mapped) *Tensor {
	batch := len(a.LhsBatch)
	left := in[0].t.Rank() - batch - len(a.LhsContract) // free axes, with the axis of slices
	both := in[0].any && in[1].any
	if in[0].any {
		a.LhsBatch, a.LhsContract = moved(a.LhsBatch, both), moved(a.LhsContract, false)
	}
	if in[1].any {
		a.RhsBatch, a.RhsContract = moved(a.RhsBatch, both), moved(a.RhsContract, false)
	}
	at := batch // where the axis of slices is in the result
	switch {
	case both:
		at = 0
	case in[1].any:
		at += left
	}
	y := w.g.add(ir.Dot, a, in[0].t, in[1].t)[0]
	if at == 0 {
		return y
	}
	return MoveAxis(y, at, 0)
}
