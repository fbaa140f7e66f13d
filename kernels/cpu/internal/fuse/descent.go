package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/ir"
)

// JoinWidening joins the update of a large variable with the conversion of its gradient from 16 bits, if nothing else
// reads the gradient. The update then widens the gradient a piece at a time. The update of a variable of 16 bits, large
// or small, reads its gradient in float32 instead of a conversion to 16 bits.
func (g *Graph) JoinWidening() {
	gone := map[*Unit]bool{}
	for _, u := range g.Units {
		if len(u.Nodes) != 1 {
			continue
		}
		n := &g.Program.Nodes[u.Nodes[0]]
		if n.Op != ir.OptimizerUpdate || len(n.Inputs) != 3+len(n.Outputs) || u.Constant {
			continue
		}
		v := n.Inputs[1]
		c := g.Node(v)
		if c == nil || c.Op != ir.Convert {
			continue
		}
		from, to := g.Program.Type(c.Inputs[0]).DType, g.Program.Type(v).DType
		widens, narrows := from.IsHalf() && to == ir.Float32, from == ir.Float32 && to.IsHalf()
		if !narrows && (!widens || g.updated(u) <= BucketVariable) {
			continue
		}
		conversion := g.UnitOf[g.Def[v]]
		if only, ok := g.onlyReader(v); !ok || only != u.Nodes[0] || conversion == nil || len(conversion.Nodes) != 1 || len(conversion.Sinks) > 0 || conversion.Constant {
			continue
		}
		if !conversion.Accesses[c.Inputs[0]].Dense { // a slice or broadcast, which is never computed
			continue
		}
		g.absorb(u, conversion, v)
		gone[conversion] = true
	}
	g.Units = slices.DeleteFunc(g.Units, func(u *Unit) bool { return gone[u] })
}

// absorb moves the nodes of a unit that computes v into u, the only unit that reads v. v is then not stored.
func (g *Graph) absorb(u, from *Unit, v ir.Value) {
	for _, i := range from.Nodes {
		g.UnitOf[i] = u
	}
	u.Nodes = append(u.Nodes, from.Nodes...)
	slices.Sort(u.Nodes)
	u.Reads = slices.DeleteFunc(u.Reads, func(x ir.Value) bool { return x == v })
	for _, x := range from.Reads {
		if !slices.Contains(u.Reads, x) {
			u.Reads = append(u.Reads, x)
		}
	}
	g.Needed[v] = false
}

// JoinDescent joins a product that is only the gradient of a variable with the step of plain gradient descent that uses
// it. The kernels then add -rate·gradient to the variable, as w + Aᵀ·(-rate·B), and never store the gradient. This
// includes updates that divide their gradient and may be skipped (lateGradients puts the product next to them). The
// gradient of a table is joined in the same way. It is zero in rows that were not looked up, so only the others are
// computed and subtracted, in float32 if the table has 16 bits.
func (g *Graph) JoinDescent() {
	kept := g.Units[:0]
	for _, u := range g.Units {
		if product := g.descent(u); product != nil {
			g.absorb(u, product, g.Program.Nodes[product.Nodes[0]].Outputs[0])
			kept = slices.DeleteFunc(kept, func(other *Unit) bool { return other == product })
		}
		kept = append(kept, u)
	}
	clear(g.Units[len(kept):])
	g.Units = kept
}

// descent returns the unit of the product that unit u may be joined with, or nil.
func (g *Graph) descent(u *Unit) *Unit {
	if len(u.Nodes) == 0 {
		return nil
	}
	n := &g.Program.Nodes[u.Nodes[len(u.Nodes)-1]]
	if n.Op != ir.OptimizerUpdate || n.Attrs.(ir.OptimizerAttrs).Rule != "sgd" || u.Constant {
		return nil
	}
	half := g.Program.Type(n.Inputs[0]).DType.IsHalf()
	v := n.Inputs[1]
	switch len(u.Nodes) {
	case 1:
	case 2: // with the conversion of the gradient
		v = g.Node(v).Inputs[0]
	default:
		return nil
	}
	d := g.Node(v)
	if d == nil || len(g.Users[v]) != 1 || g.IsOutput[v] || v == n.Inputs[0] {
		return nil
	}
	product := g.UnitOf[g.Def[v]]
	if product == nil || product.Fused != nil || len(product.Nodes) != 1 || product.Constant {
		return nil
	}
	s := g.Program.Type(v).Shape
	if d.Op == ir.EmbeddingGrad {
		if len(u.Nodes) > 1 != half || s.Size() <= BucketVariable || g.Program.Type(v).DType.IsHalf() || slices.Contains(d.Inputs[1:], n.Inputs[0]) {
			return nil
		}
		return product
	}
	if half || d.Op != ir.Dot || slices.Contains(d.Inputs, n.Inputs[0]) || len(d.Attrs.(ir.DotAttrs).LhsBatch) > 0 {
		return nil
	}
	if len(n.Inputs) > 4 && g.Program.Type(v).DType.IsHalf() { // 16-bit products are stored if the update may be skipped
		return nil
	}
	if len(s) != 2 || s.Size() <= BucketVariable {
		return nil
	}
	sums := g.Program.Type(d.Inputs[0]).Shape.Size() / s[0]
	if gemm.IsTall(&gemm.Args[float32]{M: s[0], N: s[1], K: sums, TransA: true}) { // these have their own kernels
		return nil
	}
	return product
}
