package partition

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// rules of the ops that are not elementwise; those without a rule are decomposed or get whole arrays.
var rules map[ir.Op]rule

func init() {
	last := func(_ *ir.Node, rank int) int { return rank - 1 }
	attrsAxis := func(n *ir.Node, _ int) int { return n.Attrs.(ir.AxisAttrs).Axis }
	rules = map[ir.Op]rule{
		ir.Transpose: transpose, ir.Broadcast: broadcast, ir.Slice: slice, ir.Pad: pad, ir.Reverse: reverse,
		ir.Concat:     offAxis(attrsAxis),
		ir.Cumulative: offAxis(func(n *ir.Node, _ int) int { return n.Attrs.(ir.CumulativeAttrs).Axis }),
		ir.Sort:       offAxis(func(n *ir.Node, _ int) int { return n.Attrs.(ir.SortAttrs).Axis }),
		ir.TopK:       offAxis(last),
		ir.ArgMax:     reduceAxis, ir.ArgMin: reduceAxis, ir.Reduce: reduce,
		ir.DynamicSlice: dynamicSlice, ir.DynamicUpdateSlice: dynamicUpdateSlice,
		ir.Dot: dot, ir.Gather: gather, ir.Scatter: scatter,

		ir.Softmax: offAxis(last), ir.SoftmaxGrad: offAxis(last), ir.LogSoftmax: offAxis(last), ir.LogSoftmaxGrad: offAxis(last),
		ir.SparseSoftmaxCrossEntropy: crossEntropy, ir.SparseSoftmaxCrossEntropyGrad: crossEntropyGrad,
		ir.LayerNorm: layerNorm, ir.LayerNormGrad: layerNorm,
		ir.Attention: attention, ir.AttentionGrad: attention,
		ir.Embedding: gather, ir.EmbeddingGrad: embeddingGrad,
		ir.Conv: conv, ir.ConvInputGrad: convInputGrad, ir.ConvKernelGrad: convKernelGrad,
		ir.MaxPool: firstAndLast, ir.MaxPoolGrad: firstAndLast, ir.AvgPool: firstAndLast, ir.AvgPoolGrad: avgPoolGrad,
		ir.OptimizerUpdate: optimizerUpdate,
	}
	delete(rules, ir.CheckFinite) // its error names a position in the whole array
}

func transpose(_ *ir.Program, n *ir.Node) *labels {
	perm := n.Attrs.(ir.TransposeAttrs).Perm
	return &labels{in: [][]int{upTo(len(perm))}, out: [][]int{perm}}
}

func broadcast(p *ir.Program, n *ir.Node) *labels {
	a := n.Attrs.(ir.BroadcastAttrs)
	in, out := slices.Clone(a.Axes), slices.Repeat([]int{none}, len(a.Shape))
	for i, axis := range a.Axes {
		if p.Type(n.Inputs[0]).Shape[i] != a.Shape[axis] {
			in[i] = none
		} else {
			out[axis] = axis
		}
	}
	return &labels{in: [][]int{in}, out: [][]int{out}, attrs: func(t []ir.Type) ir.Attrs { return ir.BroadcastAttrs{Shape: t[0].Shape, Axes: a.Axes} }}
}

func slice(p *ir.Program, n *ir.Node) *labels {
	a, shape := n.Attrs.(ir.SliceAttrs), p.Type(n.Inputs[0]).Shape
	all := upTo(len(shape))
	for i, length := range shape {
		if a.Start[i] != 0 || a.Limit[i] != length || a.Stride[i] != 1 {
			all[i] = none
		}
	}
	return &labels{in: [][]int{all}, out: [][]int{all}, attrs: func(t []ir.Type) ir.Attrs {
		own := ir.SliceAttrs{Start: a.Start, Limit: slices.Clone(a.Limit), Stride: a.Stride}
		for i, label := range all {
			if label != none {
				own.Limit[i] = t[0].Shape[i]
			}
		}
		return own
	}}
}

func pad(_ *ir.Program, n *ir.Node) *labels {
	a := n.Attrs.(ir.PadAttrs)
	all := upTo(len(a.Low))
	for i := range all {
		if a.Low[i] != 0 || a.High[i] != 0 || a.Interior[i] != 0 {
			all[i] = none
		}
	}
	return &labels{in: [][]int{all, {}}, out: [][]int{all}}
}

func reverse(p *ir.Program, n *ir.Node) *labels {
	all := blocked(upTo(len(p.Type(n.Inputs[0]).Shape)), n.Attrs.(ir.AxesAttrs).Axes...)
	return &labels{in: [][]int{all}, out: [][]int{all}}
}

// without leaves out axes.
func without(l []int, axes ...int) []int {
	var out []int
	for i, label := range l {
		if !slices.Contains(axes, i) {
			out = append(out, label)
		}
	}
	return out
}

func reduceAxis(p *ir.Program, n *ir.Node) *labels {
	axis := n.Attrs.(ir.AxisAttrs).Axis
	all := blocked(upTo(len(p.Type(n.Inputs[0]).Shape)), axis)
	return &labels{in: [][]int{all}, out: [][]int{without(all, axis)}}
}

func reduce(p *ir.Program, n *ir.Node) *labels {
	a := n.Attrs.(ir.ReduceAttrs)
	t := p.Type(n.Inputs[0])
	all := upTo(len(t.Shape))
	l := &labels{combine: a.Kind}
	if t.DType == ir.Bool || a.Kind != ir.Sum && a.Kind != ir.Max && a.Kind != ir.Min {
		l.combine, all = "", blocked(all, a.Axes...)
	}
	l.in, l.out = [][]int{all}, [][]int{without(all, a.Axes...)}
	return l
}

// starts are the labels of the start indices of a dynamic slice, which are scalars.
func starts(n *ir.Node, first int) [][]int { return make([][]int, len(n.Inputs)-first) }

func dynamicSlice(p *ir.Program, n *ir.Node) *labels {
	shape, sizes := p.Type(n.Inputs[0]).Shape, n.Attrs.(ir.DynamicSliceAttrs).Sizes
	all := upTo(len(shape))
	for i := range all {
		if shape[i] != sizes[i] {
			all[i] = none
		}
	}
	return &labels{in: append([][]int{all}, starts(n, 1)...), out: [][]int{all}, attrs: func(t []ir.Type) ir.Attrs { return ir.DynamicSliceAttrs{Sizes: t[0].Shape} }}
}

func dynamicUpdateSlice(p *ir.Program, n *ir.Node) *labels {
	shape, update := p.Type(n.Inputs[0]).Shape, p.Type(n.Inputs[1]).Shape
	all := upTo(len(shape))
	for i := range all {
		if shape[i] != update[i] {
			all[i] = none
		}
	}
	return &labels{in: append([][]int{all, all}, starts(n, 2)...), out: [][]int{all}}
}

// dot: axes that are summed over give partial sums.
func dot(p *ir.Program, n *ir.Node) *labels {
	a := n.Attrs.(ir.DotAttrs)
	left, right := len(p.Type(n.Inputs[0]).Shape), len(p.Type(n.Inputs[1]).Shape)
	l, r := upTo(left), make([]int, right)
	for i := range r {
		r[i] = left + i
	}
	var out []int
	for i, axis := range a.LhsBatch {
		r[a.RhsBatch[i]] = axis
		out = append(out, axis)
	}
	for i, axis := range a.LhsContract {
		r[a.RhsContract[i]] = axis
	}
	out = append(out, without(l, slices.Concat(a.LhsBatch, a.LhsContract)...)...)
	out = append(out, without(r, slices.Concat(a.RhsBatch, a.RhsContract)...)...)
	return &labels{in: [][]int{l, r}, out: [][]int{out}, combine: ir.Sum}
}

// gather, also of rows of an embedding: the axis that indices select from must be whole.
func gather(p *ir.Program, n *ir.Node) *labels {
	axis := 0
	if a, ok := n.Attrs.(ir.GatherAttrs); ok {
		axis = a.Axis
	}
	rank, indices := len(p.Type(n.Inputs[0]).Shape), upTo(len(p.Type(n.Inputs[1]).Shape))
	operand := make([]int, rank)
	for i := range operand {
		operand[i] = len(indices) + i
	}
	operand = blocked(operand, axis)
	return &labels{in: [][]int{operand, indices}, out: [][]int{slices.Concat(operand[:axis], indices, operand[axis+1:])}}
}

// scatter: every device sees all updates of its part.
func scatter(p *ir.Program, n *ir.Node) *labels {
	axis := n.Attrs.(ir.ScatterAttrs).Axis
	operand := blocked(upTo(len(p.Type(n.Inputs[0]).Shape)), axis)
	indices := slices.Repeat([]int{none}, len(p.Type(n.Inputs[1]).Shape))
	updates := slices.Concat(operand[:axis], indices, operand[axis+1:])
	return &labels{in: [][]int{operand, indices, updates}, out: [][]int{operand}}
}

// embeddingGrad: indices and their gradients are those of examples; the devices' sums are partial.
func embeddingGrad(p *ir.Program, n *ir.Node) *labels {
	indices := upTo(len(p.Type(n.Inputs[1]).Shape))
	table := []int{none, len(indices)}
	return &labels{in: [][]int{table, indices, append(slices.Clone(indices), len(indices))}, out: [][]int{table}, combine: ir.Sum}
}

// crossEntropy: every row of logits is whole.
func crossEntropy(p *ir.Program, n *ir.Node) *labels {
	rows := upTo(len(p.Type(n.Inputs[1]).Shape))
	logits := append(slices.Clone(rows), none)
	return &labels{in: [][]int{logits, rows}, out: [][]int{rows, rows}}
}

func crossEntropyGrad(p *ir.Program, n *ir.Node) *labels {
	rows := upTo(len(p.Type(n.Inputs[1]).Shape))
	logits := append(slices.Clone(rows), none)
	return &labels{in: [][]int{logits, rows, rows, rows}, out: [][]int{logits}}
}

// layerNorm, and its gradient: rows are whole; the gradients of scale and shift are sums over all rows.
func layerNorm(p *ir.Program, n *ir.Node) *labels {
	rank := len(p.Type(n.Inputs[0]).Shape)
	rows := upTo(rank - 1)
	x := append(slices.Clone(rows), none)
	if n.Op == ir.LayerNorm {
		return &labels{in: [][]int{x, {none}, {none}}, out: [][]int{x, rows, rows}}
	}
	return &labels{in: [][]int{x, {none}, rows, rows, x}, out: [][]int{x, {none}, {none}}, combine: ir.Sum}
}

// attention, and its gradient: examples (0) and heads (1) are kept apart.
func attention(p *ir.Program, n *ir.Node) *labels {
	x, rows := []int{0, none, 1, none}, []int{0, 1, none}
	l := &labels{in: [][]int{x, x, x}, out: [][]int{x, rows}}
	masked := 3
	if n.Op == ir.AttentionGrad {
		l.in, l.out, masked = append(l.in, x, rows, x), [][]int{x, x, x}, 6
	}
	if len(n.Inputs) > masked {
		mask, q := p.Type(n.Inputs[masked]).Shape, p.Type(n.Inputs[0]).Shape
		of := ranked(nil, len(mask))
		if mask[0] == q[0] {
			of[0] = 0
		}
		if mask[1] == q[2] {
			of[1] = 1
		}
		l.in = append(l.in, of)
	}
	return l
}

// optimizerUpdate: weights, gradient and slots have the same layout.
func optimizerUpdate(p *ir.Program, n *ir.Node) *labels {
	all := upTo(len(p.Type(n.Inputs[0]).Shape))
	l := &labels{in: repeat(all, len(n.Inputs)), out: repeat(all, len(n.Outputs))}
	l.in[2], l.in[3] = nil, nil // rate and step
	if gate := 3 + len(n.Outputs); gate < len(n.Inputs) {
		l.in[gate], l.in[gate+1] = nil, nil // and divisor
	}
	return l
}
