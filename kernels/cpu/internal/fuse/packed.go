package fuse

import "github.com/gokeras/gokeras/kernels/ir"

// findPackedProduct looks for a product with a 4-bit or 8-bit matrix to whose result, possibly reshaped, a bias or
// another value is added, and for a relu after that.
func (g *Graph) findPackedProduct(i int) {
	n := &g.Program.Nodes[i]
	if n.Op != ir.PackedDot || g.constant[i] || g.Program.Type(n.Outputs[0]).DType != ir.Float32 {
		return
	}
	columns := n.Attrs.(ir.PackedDotAttrs).Columns
	e, nodes := NewEpilogue(i, n.Outputs[0]), []int{i}
	if next, ok := g.onlyReader(e.Result); ok && g.Program.Nodes[next].Op == ir.Reshape {
		nodes, e.Result = append(nodes, next), g.Program.Nodes[next].Outputs[0]
	}
	least := len(nodes)
	if next, bias, ok := g.vectorAdd(e.Result, columns); ok && g.Def[bias] < i {
		nodes, e.Bias, e.Result = append(nodes, next), bias, g.Program.Nodes[next].Outputs[0]
	}
	if next, addend, ok := g.addend(i, e.Result); ok && g.predicts {
		nodes, e.Addend, e.Result = append(nodes, next), addend, g.Program.Nodes[next].Outputs[0]
	}
	if next, ok := g.onlyReader(e.Result); ok && g.Program.Nodes[next].Op == ir.Relu {
		nodes, e.Relu, e.Result = append(nodes, next), true, g.Program.Nodes[next].Outputs[0]
	}
	if len(nodes) > least {
		g.fuse(&Unit{Nodes: nodes, position: nodes[len(nodes)-1], Fused: e})
	}
}
