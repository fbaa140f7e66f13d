package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// DecomposeHalfUpdates returns the pass that replaces updates of 16-bit variables by their formulas in float32, between
// conversions of the variable, its slots and the gradient, and of the results. Backends that compile elementwise
// operations into one loop then read and write 16 bits alone, together with what computes the gradient element by
// element. Variables and gradients that are computed in float32 are not rounded before.
func DecomposeHalfUpdates() Pass {
	return New("decompose half updates", func(p *ir.Program) (*ir.Program, error) {
		half := func(n *ir.Node) bool { return n.Op == ir.OptimizerUpdate && p.Type(n.Inputs[0]).DType.IsHalf() }
		if !slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { return half(&n) }) {
			return p, nil
		}
		u := halfUpdates{NewRewriter(p), nil}
		_, u.def = Uses(p)
		for i := range p.Nodes {
			n := &p.Nodes[i]
			var out []ir.Value
			var err error
			if half(n) && !u.looksUp(n) {
				out, err = u.formulas(n)
			} else {
				out, err = u.To.Add(n.Scope, n.Op, n.Attrs, u.Operands(n)...)
			}
			if err == nil {
				err = u.Define(n, out)
			}
			if err != nil {
				return nil, err
			}
		}
		return u.Finish(), nil
	})
}

// halfUpdates is the pass over one program.
type halfUpdates struct {
	*Rewriter
	def []int
}

// formulas adds what replaces an update, and returns its results.
func (u *halfUpdates) formulas(n *ir.Node) ([]ir.Value, error) {
	half, in := u.From.Type(n.Inputs[0]).DType, u.Operands(n)
	for i, v := range n.Inputs {
		if j := u.def[v]; i < 2 && j >= 0 && u.From.Nodes[j].Op == ir.Convert { // the variable, as weight decay leaves it, and the gradient
			if from := u.From.Nodes[j].Inputs[0]; u.From.Type(from).DType == ir.Float32 {
				in[i] = u.Mapped[from]
			}
		}
		if u.To.Type(in[i]).DType.IsHalf() {
			var err error
			if in[i], err = u.add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, in[i]); err != nil {
				return nil, err
			}
		}
	}
	var out []ir.Value
	var err error
	if u.descends(n) {
		for i := 2; i < len(in) && err == nil; i++ {
			in[i], err = u.add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, in[i])
		}
		if err == nil {
			out, err = u.To.Add(n.Scope, n.Op, n.Attrs, in...)
			out = slices.Clone(out)
		}
	} else {
		out, _, err = ir.Decompose(u.To, &ir.Node{Op: n.Op, Attrs: n.Attrs, Inputs: in, Scope: n.Scope})
	}
	for i := range out {
		if err == nil {
			out[i], err = u.add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: half}, out[i])
		}
	}
	return out, err
}

// looksUp reports whether the update is plain gradient descent along the gradient of a table, which is computed in
// float32. Backends then update only the rows that were looked up, while formulas would compute all.
func (u *halfUpdates) looksUp(n *ir.Node) bool {
	if n.Attrs.(ir.OptimizerAttrs).Rule != "sgd" || len(n.Inputs) != 4 {
		return false
	}
	i := u.def[n.Inputs[1]]
	if i < 0 || u.From.Nodes[i].Op != ir.Convert {
		return false
	}
	v := u.From.Nodes[i].Inputs[0]
	d := u.def[v]
	return d >= 0 && u.From.Nodes[d].Op == ir.EmbeddingGrad && u.From.Type(v).DType == ir.Float32
}

// descends reports whether the update is plain gradient descent along a product, which backends add to the variable in
// float32, in place, without storing it.
func (u *halfUpdates) descends(n *ir.Node) bool {
	if n.Attrs.(ir.OptimizerAttrs).Rule != "sgd" || len(n.Inputs) != 4 {
		return false
	}
	for i := u.def[n.Inputs[1]]; i >= 0; {
		d := &u.From.Nodes[i]
		if d.Op != ir.Convert {
			return d.Op == ir.Dot && len(d.Attrs.(ir.DotAttrs).LhsBatch) == 0
		}
		i = u.def[d.Inputs[0]]
	}
	return false
}
