package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// A concatenation of operands of one shape can be a sink of the elementwise unit that computes some of them. The unit
// stores each block in its place while it is in the first-level cache, and the operands are never stored separately.
// Operands that it does not compute, it reads like any elementwise operation.

// maxJoined is the largest number of operands of such a concatenation.
const maxJoined = 8

// mayJoin reports whether the concatenation has operands of one shape, some of which an elementwise unit can compute.
func (g *Graph) mayJoin(i int, n *ir.Node) bool {
	if n.Op != ir.Concat || g.Plain || g.constant[i] || len(n.Inputs) < 2 || len(n.Inputs) > maxJoined {
		return false
	}
	shape, computed := g.Program.Type(n.Inputs[0]).Shape, false
	for _, v := range n.Inputs {
		if !slices.Equal(g.Program.Type(v).Shape, shape) {
			return false
		}
		a := resolve(g.Program, g.Def, v)
		j := g.Def[a.Source]
		computed = computed || a.Dense && j >= 0 && g.UnitOf[j] == nil && !g.constant[j] && g.Program.Nodes[j].Op.IsElementwise()
	}
	return computed && shape.Size() > 0
}

// groupConcat makes an elementwise unit of a concatenation. Earlier nodes will join it.
func (g *Graph) groupConcat(i int, n *ir.Node) {
	u := g.newUnit(i)
	u.Nodes, u.Sinks = nil, []int{i}
	u.Elementwise, u.Size, u.Accesses = true, g.Program.Type(n.Inputs[0]).Shape.Size(), map[ir.Value]Access{}
	g.Needed[n.Outputs[0]] = true
	g.fromMemory(n.Outputs[0])
	for _, x := range n.Inputs {
		g.readElementwise(u, x)
	}
}

// joined counts the operands of the concatenations that are sinks of the unit.
func (g *Graph) joined(u *Unit) (operands int) {
	for _, i := range u.Sinks {
		if n := &g.Program.Nodes[i]; n.Op == ir.Concat {
			operands += len(n.Inputs)
		}
	}
	return operands
}

// leaveConcats turns concatenations that nothing has joined, and whose operands are all in memory, into ordinary units.
func (g *Graph) leaveConcats() {
	for _, u := range g.Units {
		if len(u.Nodes) > 0 || len(u.Sinks) != 1 {
			continue
		}
		n := &g.Program.Nodes[u.Sinks[0]]
		if slices.ContainsFunc(n.Inputs, func(x ir.Value) bool {
			a := u.Accesses[x]
			r, _ := g.Root(x)
			s, _ := g.Root(a.Source)
			return !a.Dense || r != s
		}) {
			continue
		}
		u.Nodes, u.Sinks = u.Sinks, nil
		u.Elementwise, u.Size, u.Accesses = false, 0, nil
	}
}

// SinkOperands returns the values that a sink of the unit reads, before any views.
func (g *Graph) SinkOperands(u *Unit, i int) []ir.Value {
	n := &g.Program.Nodes[i]
	if n.Op != ir.Concat {
		return []ir.Value{g.SinkOperand(i)}
	}
	values := make([]ir.Value, len(n.Inputs))
	for k, x := range n.Inputs {
		values[k] = u.Accesses[x].Source
	}
	return values
}
