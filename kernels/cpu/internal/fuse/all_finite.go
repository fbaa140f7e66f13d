package fuse

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// findAllFinite looks for a check that all numbers of a value are finite. One kernel does it, also if the numbers are
// first rounded from float32 to float16, where numbers out of range become infinite. The rounded numbers are not
// stored, nor is a gradient that only this check reads.
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
	anchor, nodes := i, []int{i, j}
	if only, ok := g.onlyReader(n.Inputs[0]); ok && only == i && g.rounds(n.Inputs[0]) {
		anchor = g.Def[n.Inputs[0]]
		nodes = []int{anchor, i, j}
	}
	if v := g.Program.Nodes[anchor].Inputs[0]; g.Node(v) != nil { // the operands of these sums may bound the numbers
		only, ok := g.onlyReader(v)
		if d := g.Def[v]; ok && only == anchor && g.UnitOf[d] == nil && !g.constant[d] && IsBounded(g.Program, &g.Program.Nodes[d]) {
			anchor, nodes = d, append([]int{d}, nodes...)
		}
	}
	g.fuse(&Unit{Nodes: nodes, position: j, Fused: NewEpilogue(anchor, all.Outputs[0])})
}

// rounds reports whether v is a float32 value rounded to float16.
func (g *Graph) rounds(v ir.Value) bool {
	c := g.Node(v)
	return c != nil && c.Op == ir.Convert && !g.constant[g.Def[v]] && g.UnitOf[g.Def[v]] == nil && g.Program.Type(v).DType == ir.Float16 && g.Program.Type(c.Inputs[0]).DType == ir.Float32
}
