package fuse

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// findAllFinite looks for the question whether all numbers of a value are finite, which one kernel answers.
func (g *Graph) findAllFinite(i int) {
	n := &g.Program.Nodes[i]
	if n.Op != ir.IsFinite || g.constant[i] {
		return
	}
	j, ok := g.onlyReader(n.Outputs[0])
	if !ok || g.Program.Nodes[j].Op != ir.Reduce || g.Program.Type(n.Inputs[0]).DType.Size() < 2 {
		return
	}
	all := &g.Program.Nodes[j]
	if a := all.Attrs.(ir.ReduceAttrs); a.Kind != ir.And || len(g.Program.Type(all.Outputs[0]).Shape) > 0 {
		return
	}
	g.fuse(&Unit{Nodes: []int{i, j}, position: j, Fused: NewEpilogue(i, all.Outputs[0])})
}
