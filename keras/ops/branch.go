package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Cond returns then() where pred (a bool scalar) is true and otherwise() where it is false; only one of them runs. Both must
// return tensors of the same types and may use any tensor of the surrounding trace. Cond is differentiable.
func Cond(pred *Tensor, then, otherwise func() []*Tensor) []*Tensor {
	if pred == nil {
		Failf(nil, "cond: the condition is nil; it must be a bool scalar")
	}
	g := pred.g.current()
	return g.cond(pred, g.traceBranch("then", then), g.traceBranch("else", otherwise))
}

// branch is one side of a Cond: the graph it was traced in and the values that it returns. The gradient of the Cond is traced
// into the same graph, so that custom gradients inside keep their meaning; then one graph serves several branches.
type branch struct {
	b       *Graph
	results []ir.Value
}

func (g *Graph) traceBranch(name string, f func() []*Tensor) *branch {
	br := &branch{b: g.body(name)}
	br.b.branch = true
	br.trace(f)
	return br
}

func (br *branch) trace(f func() []*Tensor) {
	br.b.trace(func() {
		for _, t := range f() {
			br.results = append(br.results, br.b.use(t))
		}
	})
}

// branchOf makes a branch of a sub-program that was not traced by hand (that of an inlined program).
func (g *Graph) branchOf(p *ir.Program, operands []*Tensor) *branch {
	br := &branch{b: g.body(p.Name)}
	br.b.branch = true
	in := make([]ir.Value, len(operands))
	for i, t := range operands {
		in[i] = br.b.use(t)
	}
	out, err := br.b.program.Inline(p, in)
	if err != nil {
		Fail(g, err)
	}
	br.results = out
	return br
}

// captures returns the outer tensors that the results depend on.
func (br *branch) captures() []*Tensor {
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
	var outer []*Tensor
	for _, k := range br.b.captured {
		if needed[k.inner] {
			outer = append(outer, k.outer)
		}
	}
	return outer
}

// cond adds the node. Both sub-programs take what either branch reads.
func (g *Graph) cond(pred *Tensor, then, otherwise *branch) []*Tensor {
	var outer []*Tensor
	for _, t := range slices.Concat(then.captures(), otherwise.captures()) {
		if !slices.ContainsFunc(outer, func(o *Tensor) bool { return o.v == t.v }) {
			outer = append(outer, t)
		}
	}
	snapshot := func(br *branch) *ir.Program {
		in := make([]ir.Value, len(outer))
		for i, t := range outer {
			in[i] = br.b.use(t)
		}
		return br.b.snapshot(in, br.results)
	}
	attrs := ir.CondAttrs{Then: snapshot(then), Else: snapshot(otherwise)}
	out := g.add(ir.Cond, attrs, append([]*Tensor{pred}, outer...)...)
	if g.place() != g { // asked for inside another branch, where the node now is
		return out
	}
	if g.branches == nil {
		g.branches = map[int][2]*branch{}
	}
	g.branches[len(g.program.Nodes)-1] = [2]*branch{then, otherwise}
	return out
}

// condRule runs the taken branch again together with its gradient.
func condRule(c *vjp) []*Tensor {
	g := c.r.g
	pair, traced := g.branches[c.index]
	if !traced {
		attrs := c.node.Attrs.(ir.CondAttrs)
		operands := c.operands(1)
		pair = [2]*branch{g.branchOf(attrs.Then, operands), g.branchOf(attrs.Else, operands)}
	}
	var which []int
	var sources []*Tensor
	for i, v := range c.node.Inputs {
		if i > 0 && c.needs(i) && slices.Index(c.node.Inputs[1:], v) == i-1 {
			which, sources = append(which, i), append(sources, c.in(i))
		}
	}
	grads := make([]*Tensor, len(c.node.Inputs))
	for j, grad := range g.cond(c.in(0), pair[0].gradient(c.dys, sources), pair[1].gradient(c.dys, sources)) {
		grads[which[j]] = grad
	}
	return grads
}

// gradient returns the branch that computes the gradients of the results with respect to tensors outside.
func (br *branch) gradient(dys, sources []*Tensor) *branch {
	b := br.b
	inner := func(t *Tensor) *Tensor { return &Tensor{g: b, v: b.use(t)} }
	next := &branch{b: b}
	next.trace(func() []*Tensor {
		var targets, cotangents, in []*Tensor
		for i, dy := range dys {
			if dy != nil {
				targets, cotangents = append(targets, &Tensor{g: b, v: br.results[i]}), append(cotangents, inner(dy))
			}
		}
		for _, s := range sources {
			in = append(in, inner(s))
		}
		grads := b.vjp(0, targets, cotangents, in)
		for i, grad := range grads {
			if grad == nil {
				grads[i] = ZerosLike(in[i])
			}
		}
		return grads
	})
	return next
}
