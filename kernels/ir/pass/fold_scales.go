package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// foldedKernel limits the size of kernels that scales are folded into, in multiples of the results of one example.
// Scaling a larger kernel costs more than it saves, unless the scaled kernel can be kept.
const foldedKernel = 32

// FoldScales returns the pass that folds factors per channel, as in batch normalization of programs that predict, into
// the kernel of a convolution or the matrix of a product. Numbers added before are multiplied too, and only one sum
// with a vector is left. Only inputs that nothing else reads count as kernels. Results are rounded differently, by some
// units in the last place of the largest product.
func FoldScales() Pass {
	return New("fold_scales", func(p *ir.Program) (*ir.Program, error) {
		f := &scaleFolder{Rewriter: NewRewriter(p), readers: Readers(p), vectors: map[ir.Value]bool{}}
		f.uses, f.def = Uses(p)
		folds, inside := map[int]*channelChain{}, make([]bool, len(p.Nodes))
		for i := range p.Nodes {
			if c := f.chain(i); c != nil {
				folds[c.steps[len(c.steps)-1].node] = c
				inside[i] = true
				for _, s := range c.steps {
					inside[s.node] = true
				}
			}
		}
		if len(folds) == 0 {
			return p, nil
		}
		for i := range p.Nodes {
			if c := folds[i]; c != nil {
				if err := f.fold(c); err != nil {
					return nil, err
				}
			}
			if inside[i] {
				continue
			}
			if err := f.Keep(&p.Nodes[i]); err != nil {
				return nil, err
			}
		}
		return f.Finish(), nil
	})
}

type scaleFolder struct {
	*Rewriter
	uses, def []int
	readers   [][]int
	vectors   map[ir.Value]bool // results of fromVectors so far
}

// channelChain is a product and the operations per channel on its result: its only reader, the only reader of that, and
// so on.
type channelChain struct {
	product int
	steps   []channelStep
}

// channelStep is a node that combines the result with a number for each channel.
type channelStep struct {
	node int
	with ir.Value // the numbers; no value for a negation
	left bool     // these numbers are the first operand
}

// chain returns what can be folded into the product, up to the last multiplication and the sum after it, or nil.
func (f *scaleFolder) chain(product int) *channelChain {
	p, n := f.From, &f.From.Nodes[product]
	if !f.folds(n) {
		return nil
	}
	c, v, until := &channelChain{product: product}, n.Outputs[0], 0
	for f.uses[v] == 1 && len(f.readers[v]) == 1 {
		i := f.readers[v][0]
		s, multiplies, ok := f.step(i, v)
		if !ok {
			break
		}
		c.steps = append(c.steps, s)
		if v = p.Nodes[i].Outputs[0]; multiplies || until == len(c.steps)-1 && until > 0 {
			until = len(c.steps) // sums before the last multiplication, and one after it
		}
	}
	if c.steps = c.steps[:until]; until == 0 {
		return nil
	}
	return c
}

// folds reports whether the node is a product whose kernel may be scaled along the last axis of the result.
func (f *scaleFolder) folds(n *ir.Node) bool {
	if n.Op != ir.Conv && n.Op != ir.Dot {
		return false
	}
	t, k := f.From.Type(n.Outputs[0]), f.From.Type(n.Inputs[1])
	rank := len(t.Shape)
	if t.DType != ir.Float32 && t.DType != ir.Float64 || rank < 2 || t.Shape.Size() == 0 || k.Shape.Size() == 0 || len(k.Shape) == 0 || k.Shape[len(k.Shape)-1] != t.Shape[rank-1] {
		return false
	}
	if a, ok := n.Attrs.(ir.DotAttrs); ok && (len(a.LhsBatch) > 0 || len(k.Shape) != 2 || !slices.Equal(a.RhsContract, []int{0})) {
		return false
	}
	v := n.Inputs[1]
	for f.def[v] >= 0 && f.uses[v] == 1 && f.From.Nodes[f.def[v]].Op == ir.Reshape {
		v = f.From.Nodes[f.def[v]].Inputs[0]
	}
	return f.def[v] < 0 && f.uses[v] == 1 && v != n.Inputs[0] && k.Shape.Size() <= foldedKernel*t.Shape[1:].Size()
}

// step describes what node i does to v, if it combines v with one number for each channel.
func (f *scaleFolder) step(i int, v ir.Value) (s channelStep, multiplies, ok bool) {
	n := &f.From.Nodes[i]
	s.node = i
	switch n.Op {
	case ir.Neg:
		return s, true, true
	case ir.Mul, ir.Add, ir.Sub, ir.Div:
		s.left = n.Inputs[1] == v
		if s.with = n.Inputs[1]; s.left {
			s.with = n.Inputs[0]
		}
		if s.with == v || n.Op == ir.Div && s.left || !f.byChannel(s.with) {
			return s, false, false
		}
		return s, n.Op == ir.Mul || n.Op == ir.Div || s.left && n.Op == ir.Sub, true
	}
	return s, false, false
}

// byChannel reports whether v repeats a number for each channel, or one for all.
func (f *scaleFolder) byChannel(v ir.Value) bool {
	if f.def[v] < 0 {
		return false
	}
	n := &f.From.Nodes[f.def[v]]
	switch a := n.Attrs.(type) {
	case ir.ConstantAttrs:
		return a.Literal.Splat
	case ir.BroadcastAttrs:
		under := f.From.Type(n.Inputs[0]).Shape
		for i, axis := range a.Axes {
			if under[i] != 1 && axis != len(a.Shape)-1 {
				return false
			}
		}
		return f.fromVectors(n.Inputs[0])
	}
	return false
}

// fromVectors reports whether v is computed only from vectors and numbers, as factors of channels are. Factors that
// differ between examples are not folded, even if there is only one example.
func (f *scaleFolder) fromVectors(v ir.Value) bool {
	if known, ok := f.vectors[v]; ok {
		return known
	}
	ok := false
	if i := f.def[v]; i < 0 {
		ok = len(f.From.Type(v).Shape) <= 1
	} else {
		n := &f.From.Nodes[i]
		ok = n.Op != ir.RngBits && !n.Op.IsCollective() && ir.SubPrograms(n.Attrs) == nil && !slices.ContainsFunc(n.Inputs, func(x ir.Value) bool { return !f.fromVectors(x) })
	}
	f.vectors[v] = ok
	return ok
}

// channels returns the numbers of a step as a vector.
func (f *scaleFolder) channels(scope string, v ir.Value, count int) (ir.Value, error) {
	n := &f.From.Nodes[f.def[v]]
	if a, ok := n.Attrs.(ir.ConstantAttrs); ok {
		a.Literal.Type.Shape = ir.Shape{count}
		return f.add(scope, ir.Constant, a)
	}
	under := f.Mapped[n.Inputs[0]]
	if size := f.To.Type(under).Shape.Size(); size == count {
		return f.add(scope, ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{count}}, under)
	}
	one, err := f.add(scope, ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{1}}, under)
	if err != nil {
		return 0, err
	}
	return f.add(scope, ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{count}, Axes: []int{0}}, one)
}

// affine is the combined effect of a chain: result·scale + offset. -1 means none.
type affine struct{ scale, offset ir.Value }

// fold adds the product with its scaled kernel, and the sum.
func (f *scaleFolder) fold(c *channelChain) error {
	n := &f.From.Nodes[c.product]
	result, kernel := f.From.Type(n.Outputs[0]).Shape, f.From.Type(n.Inputs[1]).Shape
	m := affine{-1, -1}
	for _, s := range c.steps {
		if err := f.then(&m, s, result[len(result)-1]); err != nil {
			return err
		}
	}
	last := &f.From.Nodes[c.steps[len(c.steps)-1].node]
	along, err := f.add(last.Scope, ir.Broadcast, ir.BroadcastAttrs{Shape: kernel, Axes: []int{len(kernel) - 1}}, m.scale)
	if err != nil {
		return err
	}
	in := f.Operands(n)
	if in[1], err = f.add(n.Scope, ir.Mul, nil, in[1], along); err != nil {
		return err
	}
	y, err := f.add(n.Scope, n.Op, n.Attrs, in...)
	if err == nil && m.offset >= 0 {
		if along, err = f.add(last.Scope, ir.Broadcast, ir.BroadcastAttrs{Shape: result, Axes: []int{len(result) - 1}}, m.offset); err == nil {
			y, err = f.add(last.Scope, ir.Add, nil, y, along)
		}
	}
	if err != nil {
		return err
	}
	return f.Define(last, []ir.Value{y})
}

// then appends a step to m: (x·scale + offset)·w, (x·scale + offset) + w, and so on.
func (f *scaleFolder) then(m *affine, s channelStep, count int) error {
	n := &f.From.Nodes[s.node]
	change := func(v *ir.Value, op ir.Op, in ...ir.Value) error {
		out, err := f.add(n.Scope, op, nil, in...)
		*v = out
		return err
	}
	one, err := f.add(n.Scope, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(f.From.Type(n.Outputs[0]).DType, 1, count)})
	if err != nil {
		return err
	}
	scale := m.scale
	if scale < 0 {
		scale = one
	}
	w := ir.Value(-1)
	if n.Op != ir.Neg {
		if w, err = f.channels(n.Scope, s.with, count); err != nil {
			return err
		}
	}
	switch n.Op {
	case ir.Mul, ir.Div:
		if m.offset >= 0 {
			if err := change(&m.offset, n.Op, m.offset, w); err != nil {
				return err
			}
		}
		if n.Op == ir.Mul && m.scale < 0 {
			m.scale = w
			return nil
		}
		return change(&m.scale, n.Op, scale, w)
	case ir.Neg:
		if m.offset >= 0 {
			if err := change(&m.offset, ir.Neg, m.offset); err != nil {
				return err
			}
		}
		return change(&m.scale, ir.Neg, scale)
	case ir.Add:
		if m.offset < 0 {
			m.offset = w
			return nil
		}
		return change(&m.offset, ir.Add, m.offset, w)
	}
	if s.left { // w - (x·scale + offset)
		if err := change(&m.scale, ir.Neg, scale); err != nil || m.offset >= 0 {
			if err != nil {
				return err
			}
			return change(&m.offset, ir.Sub, w, m.offset)
		}
		m.offset = w
		return nil
	}
	if m.offset < 0 {
		return change(&m.offset, ir.Neg, w)
	}
	return change(&m.offset, ir.Sub, m.offset, w)
}
