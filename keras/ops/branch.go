package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Cond returns then() where pred (a bool scalar) is true and otherwise() where it is false; only one of them runs. Both
// must return tensors of the same types and may use any tensor of the surrounding trace. Cond is differentiable.
func Cond(pred *Tensor, then, otherwise func() []*Tensor) []*Tensor {
	if pred == nil {
		Failf(nil, "cond: the condition is nil; it must be a bool scalar")
	}
	needFunctions(pred.g, "cond", then != nil, otherwise != nil)
	g := pred.g.current()
	return newCond(pred, [2]*branch{g.traceBranch("then", then), g.traceBranch("else", otherwise)})
}

// branch is one side of a Cond: the graph it was traced in, what it reads and what it returns. The gradient of the Cond
// is traced into the same graph, so that custom gradients inside keep their meaning. One graph then serves several
// branches.
type branch struct {
	b       *Graph
	in      []capture // what is read: tensors outside and the inputs that stand for them
	inputs  []ir.Value
	results []ir.Value
}

func (g *Graph) traceBranch(name string, f func() []*Tensor) *branch {
	br := &branch{b: g.body(name)}
	br.b.branch = true
	br.trace(f)
	br.in = br.b.captured
	return br
}

func (br *branch) trace(f func() []*Tensor) {
	br.b.trace(func() {
		for _, t := range f() {
			br.results = append(br.results, br.b.use(t))
		}
	})
}

// read adds an input that stands for t.
func (br *branch) read(t *Tensor) *Tensor {
	inner := br.b.Input("read", t.DType(), t.Shape()...)
	br.in = append(br.in, capture{t, inner.v})
	return inner
}

// branchOf makes a branch of a sub-program that was not traced here, such as one from an inlined program.
func (g *Graph) branchOf(p *ir.Program, operands []*Tensor) *branch {
	br := &branch{b: g.body(p.Name)}
	br.b.branch = true
	for _, t := range operands {
		br.inputs = append(br.inputs, br.read(t).v)
	}
	out, err := br.b.program.Inline(p, br.inputs)
	if err != nil {
		Fail(g, err)
	}
	br.results = out
	return br
}

// needed returns those captures of in that the results depend on.
func (br *branch) needed() []capture {
	p := br.b.program
	needed := make([]bool, p.NumValues())
	for _, v := range br.results {
		needed[v] = true
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		if slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return needed[v] }) {
			for _, v := range n.Inputs {
				needed[v] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(br.in), func(k capture) bool { return !needed[k.inner] })
}

// newCond adds the node. Both sub-programs take the same operands: what either branch reads.
func newCond(pred *Tensor, branches [2]*branch) []*Tensor {
	var operands []*Tensor
	for _, br := range branches {
		br.inputs = nil
		for _, k := range br.needed() {
			at := slices.IndexFunc(operands, func(t *Tensor) bool { return t.g == k.outer.g && t.v == k.outer.v })
			if at < 0 || at < len(br.inputs) && br.inputs[at] >= 0 { // new, or read twice
				at = len(operands)
				operands = append(operands, k.outer)
			}
			for len(br.inputs) <= at {
				br.inputs = append(br.inputs, -1)
			}
			br.inputs[at] = k.inner
		}
	}
	var programs [2]*ir.Program
	for i, br := range branches {
		for at, t := range operands {
			if at == len(br.inputs) {
				br.inputs = append(br.inputs, -1)
			}
			if br.inputs[at] < 0 {
				br.inputs[at] = br.b.program.AddInput("unused", t.Type())
			}
		}
		programs[i] = br.b.snapshot(br.inputs, br.results)
	}
	operands = append([]*Tensor{pred}, operands...)
	g := graphOf(operands...).current().place()
	out := g.add(ir.Cond, ir.CondAttrs{Then: programs[0], Else: programs[1]}, operands...)
	if g.branches == nil {
		g.branches = map[int][2]*branch{}
	}
	g.branches[len(g.program.Nodes)-1] = branches
	return out
}

// condRule runs the taken branch again together with its gradient.
func condRule(c *vjp) []*Tensor {
	branches, traced := c.r.g.branches[c.index]
	if !traced {
		attrs := c.node.Attrs.(ir.CondAttrs)
		branches = [2]*branch{c.r.g.branchOf(attrs.Then, c.operands(1)), c.r.g.branchOf(attrs.Else, c.operands(1))}
	}
	var which []int
	for i := range c.operands(1) {
		if c.needs(i + 1) {
			which = append(which, i)
		}
	}
	grads := make([]*Tensor, len(c.node.Inputs))
	for j, grad := range newCond(c.in(0), [2]*branch{branches[0].gradient(c, which), branches[1].gradient(c, which)}) {
		grads[which[j]+1] = grad
	}
	return grads
}

// gradient returns the branch that computes the gradients of the results with respect to the given inputs.
func (br *branch) gradient(c *vjp, which []int) *branch {
	b := br.b
	next := &branch{b: b}
	for i, v := range br.inputs {
		next.in = append(next.in, capture{c.in(i + 1), v})
	}
	next.trace(func() []*Tensor {
		var targets, cotangents, sources []*Tensor
		for i, dy := range c.dys {
			if dy != nil {
				targets, cotangents = append(targets, &Tensor{g: b, v: br.results[i]}), append(cotangents, next.read(dy))
			}
		}
		for _, i := range which {
			sources = append(sources, &Tensor{g: b, v: br.inputs[i]})
		}
		grads := b.vjp(0, targets, cotangents, sources)
		for i, grad := range grads {
			if grad == nil {
				grads[i] = ZerosLike(sources[i])
			}
		}
		return grads
	})
	for _, k := range b.captured { // what a custom gradient also used
		if !slices.ContainsFunc(next.in, func(n capture) bool { return n.inner == k.inner }) {
			next.in = append(next.in, k)
		}
	}
	return next
}
