package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A gather of single elements from one line is elementwise in its indices: the line is a table, of which the unit reads
// arbitrary elements. The indices, and what is computed from the elements, then never leave the first-level cache.

// LooksUp reports whether the node is such a gather, with indices of a type that has a loop.
func (g *Graph) LooksUp(n *ir.Node) bool {
	a, ok := n.Attrs.(ir.GatherAttrs)
	if !ok || n.Op != ir.Gather {
		return false
	}
	t := g.Program.Type(n.Inputs[0])
	return t.Shape[a.Axis] > 0 && t.Shape.Size() == t.Shape[a.Axis] && g.Program.Type(n.Inputs[1]).DType == ir.Int32
}

// joinsLookup reports whether gather i belongs in an elementwise unit, because such a unit computes its indices or
// reads its result.
func (g *Graph) joinsLookup(i int, n *ir.Node) bool {
	if g.Plain || g.constant[i] || !g.LooksUp(n) {
		return false
	}
	a := resolve(g.Program, g.Def, n.Inputs[1])
	j := g.Def[a.Source]
	if a.Dense && j >= 0 && g.UnitOf[j] == nil && !g.constant[j] && g.Program.Nodes[j].Op.IsElementwise() {
		return true
	}
	size := g.Program.Type(n.Outputs[0]).Shape.Size()
	return slices.ContainsFunc(g.dense[n.Outputs[0]], func(u *Unit) bool { return u.Size == size })
}

// readTable records that the unit reads arbitrary elements of v.
func (g *Graph) readTable(u *Unit, v ir.Value) {
	if !slices.Contains(u.Tables, v) {
		u.Tables = append(u.Tables, v)
	}
	g.read(u, v, u.position)
}

// fitsLookups reports whether the nodes may join a unit that looks elements up.
func (g *Graph) fitsLookups(u *Unit, nodes ...int) bool {
	if len(u.Tables) == 0 {
		return false
	}
	all := ints.Concat(u.Nodes, nodes)
	var outside []ir.Value
	for _, i := range all {
		for _, x := range g.Program.Nodes[i].Inputs {
			v := resolve(g.Program, g.Def, x).Source
			if !slices.Contains(outside, v) && (g.Def[v] < 0 || !slices.Contains(all, g.Def[v])) {
				outside = append(outside, v)
			}
		}
	}
	count := len(all) + g.joined(u)
	return count <= lookupGroup && count+len(outside) <= lookupOperands
}
