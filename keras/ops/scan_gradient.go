package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// scanGradient derives the loop that runs a scan backwards.
//
// The gradient of one step is traced into the graph of the body, which then holds both directions. Everything that
// depends on the incoming gradients becomes the body of the backward loop. The forward loop is changed to return the
// other values that this body reads (the residuals), stacked over the steps. So nothing of the forward step is computed
// twice.
type scanGradient struct {
	c     *vjp
	attrs ir.ScanAttrs
	b     *Graph
	given int // inputs of the body that belong to the forward loop

	carries, xs, consts []int // operands whose gradient is carried, stacked, accumulated

	dCarry, dYs, acc []*Tensor // inputs of the backward body
	ys               []int     // results with an incoming gradient
	out              []*Tensor // results of the backward body
	outputs          []ir.Value
}

func scanRule(c *vjp) []*Tensor {
	s := &scanGradient{c: c, attrs: c.node.Attrs.(ir.ScanAttrs), b: c.r.g.bodies[c.index]}
	if s.b == nil {
		s.b = bodyOf(c.r.g, s.attrs.Body)
	}
	s.given = len(c.node.Inputs)
	s.traceStep()
	residuals := s.splitResiduals()
	stacks := s.handOut(residuals)
	return s.loop(residuals, stacks)
}

// bodyOf makes a graph of a sub-program that was not traced here (the body of a backward loop).
func bodyOf(g *Graph, p *ir.Program) *Graph {
	b := g.body(p.Name)
	var in []ir.Value
	for _, input := range p.Inputs {
		in = append(in, b.program.AddInput(input.Name, p.Type(input.Value)))
	}
	out, err := b.program.Inline(p, in)
	if err != nil {
		Fail(g, err)
	}
	b.results = out
	return b
}

func (s *scanGradient) input(i int) *Tensor {
	return &Tensor{g: s.b, v: s.b.program.Inputs[i].Value}
}

// traceStep appends the gradient of one step to the body.
func (s *scanGradient) traceStep() {
	b, a := s.b, s.attrs
	var targets, cotangents, sources []*Tensor
	for i, v := range b.results {
		t := &Tensor{g: b, v: v}
		if !t.DType().IsFloat() {
			continue
		}
		if i >= a.Carry && s.c.dys[i] == nil {
			continue
		}
		d := b.Input("gradient", t.DType(), t.Shape()...)
		if i < a.Carry {
			s.dCarry = append(s.dCarry, d)
			s.carries = append(s.carries, i)
		} else {
			s.dYs = append(s.dYs, d)
			s.ys = append(s.ys, i)
		}
		targets, cotangents = append(targets, t), append(cotangents, d)
	}
	for i := range s.given {
		t := s.input(i)
		if !t.DType().IsFloat() || i >= a.Carry && !s.c.needs(i) {
			continue
		}
		switch {
		case i >= a.Carry+a.Xs:
			s.consts = append(s.consts, i)
		case i >= a.Carry:
			s.xs = append(s.xs, i)
		}
		sources = append(sources, t)
	}
	b.trace(func() {
		grads := b.vjp(0, targets, cotangents, sources)
		for i, grad := range grads {
			if grad == nil {
				grads[i] = ZerosLike(sources[i])
			}
		}
		nc, nx := len(s.carries), len(s.xs)
		s.out = append(s.out, grads[:nc]...)
		for _, grad := range grads[nc+nx:] {
			acc := b.Input("accumulator", grad.DType(), grad.Shape()...)
			s.acc = append(s.acc, acc)
			s.out = append(s.out, Add(acc, grad))
		}
		s.out = append(s.out, grads[nc:nc+nx]...)
	})
}

// splitResiduals returns the values of the forward step that the backward step reads and that change from step to step.
func (s *scanGradient) splitResiduals() []ir.Value {
	p := s.b.program
	for _, t := range s.out {
		s.outputs = append(s.outputs, s.b.use(t))
	}
	backward := make([]bool, p.NumValues()) // depends on a gradient, or on something defined after the forward loop
	varying := make([]bool, p.NumValues())  // depends on a carry or an x
	for i, in := range p.Inputs {
		backward[in.Value] = i >= s.given
		varying[in.Value] = i < s.attrs.Carry+s.attrs.Xs
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, v := range n.Outputs {
			backward[v] = slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return backward[v] })
			varying[v] = slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return varying[v] })
		}
	}
	needed := make([]bool, p.NumValues())
	for _, v := range s.outputs {
		needed[v] = true
	}
	var residuals []ir.Value
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		for _, v := range n.Outputs {
			switch {
			case !needed[v]:
			case varying[v] && !backward[v]:
				residuals = append(residuals, v)
			default:
				for _, in := range n.Inputs {
					needed[in] = true
				}
			}
		}
	}
	for _, in := range p.Inputs[:s.attrs.Carry+s.attrs.Xs] {
		if needed[in.Value] {
			residuals = append(residuals, in.Value)
		}
	}
	return residuals
}

// isX reports whether residual v is a stacked operand of the forward loop itself.
func (s *scanGradient) isX(v ir.Value) (operand int, ok bool) {
	for i := s.attrs.Carry; i < s.attrs.Carry+s.attrs.Xs; i++ {
		if s.b.program.Inputs[i].Value == v {
			return i, true
		}
	}
	return 0, false
}

// handOut makes the forward loop return the residuals, stacked, and returns the stacks.
func (s *scanGradient) handOut(residuals []ir.Value) []*Tensor {
	g, b := s.c.r.g, s.b
	outputs := slices.Clone(b.results)
	at := make([]int, len(residuals))
	for i, v := range residuals {
		if _, ok := s.isX(v); ok {
			continue
		}
		at[i] = slices.Index(outputs[s.attrs.Carry:], v) + s.attrs.Carry
		if at[i] < s.attrs.Carry {
			at[i] = len(outputs)
			outputs = append(outputs, v)
		}
	}
	attrs := s.attrs
	attrs.Body = b.snapshot(b.inputValues()[:s.given], outputs)
	values, err := g.program.ReplaceNode(s.c.index, ir.Scan, attrs, s.c.node.Inputs)
	if err != nil {
		Fail(g, err)
	}
	b.results = outputs
	stacks := make([]*Tensor, len(residuals))
	for i, v := range residuals {
		if operand, ok := s.isX(v); ok {
			stacks[i] = s.c.in(operand)
		} else {
			stacks[i] = &Tensor{g: g, v: values[at[i]]}
		}
	}
	return stacks
}

// loop adds the backward loop and sorts its results by operand.
func (s *scanGradient) loop(residuals []ir.Value, stacks []*Tensor) []*Tensor {
	g, b := s.c.r.g, s.b
	var inputs []ir.Value
	var operands []*Tensor
	pass := func(inner ir.Value, outer *Tensor) {
		inputs, operands = append(inputs, inner), append(operands, outer)
	}
	for i, d := range s.dCarry {
		pass(d.v, s.c.dy(s.carries[i]))
	}
	for _, acc := range s.acc {
		pass(acc.v, Zeros(g, acc.DType(), acc.Shape()...))
	}
	carry := len(inputs)
	for i, d := range s.dYs {
		pass(d.v, s.c.dy(s.ys[i]))
	}
	for i, v := range residuals {
		pass(v, stacks[i])
	}
	xs := len(inputs) - carry
	for i := s.attrs.Carry + s.attrs.Xs; i < s.given; i++ {
		pass(b.program.Inputs[i].Value, s.c.in(i))
	}
	for _, k := range b.captured {
		if !slices.Contains(inputs, k.inner) {
			pass(k.inner, k.outer)
		}
	}
	attrs := ir.ScanAttrs{Body: b.snapshot(inputs, s.outputs), Length: s.attrs.Length, Carry: carry, Xs: xs, Reverse: !s.attrs.Reverse}
	results := apply(ir.Scan, attrs, operands...)

	grads := make([]*Tensor, len(s.c.node.Inputs))
	for i, operand := range slices.Concat(s.carries, s.consts, s.xs) {
		grads[operand] = results[i]
	}
	return grads
}
