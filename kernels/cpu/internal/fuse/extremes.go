package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
)

// leastShared is the number of elements sharing a gradient from which on a call for them pays, and leastColumns the
// number of columns from which on one call computes many such gradients. (If all elements of a row share one gradient,
// elementwise units with their sums compute it.)
const (
	leastShared  = 256
	leastColumns = 8
)

// findExtremeGradient looks for the gradient of a maximum or minimum y of x along some axes, in the form of its rule:
//
//	hit = x == y      dx = hit · (dy / Σ hit)
//
// One kernel computes it without storing hit. The unit's anchor is the division, y its addend and x its upstream.
func (g *Graph) findExtremeGradient(i int) {
	n := &g.Program.Nodes[i]
	if n.Op != ir.Mul || g.constant[i] || g.Program.Type(n.Outputs[0]).DType != ir.Float32 || g.Program.Type(n.Outputs[0]).Shape.Size() == 0 {
		return
	}
	for side, hit := range n.Inputs {
		convert := g.Node(hit)
		if convert == nil || convert.Op != ir.Convert || g.IsOutput[hit] || len(g.Users[hit]) != 2 || g.Def[convert.Inputs[0]] < 0 {
			continue
		}
		equal, one := g.Def[convert.Inputs[0]], false
		if _, one = g.onlyReader(convert.Inputs[0]); !one || g.Program.Nodes[equal].Op != ir.Compare || g.Program.Nodes[equal].Attrs.(ir.CompareAttrs).Direction != ir.Eq {
			continue
		}
		reduce := g.Users[hit][0]
		if reduce == i {
			reduce = g.Users[hit][1]
		}
		share := g.resolveFlat(n.Inputs[1-side])
		u := &Unit{Nodes: []int{equal, g.Def[hit], reduce, g.Def[share.Source], i}, position: i}
		if g.sharesGradient(u, &share) {
			g.fuse(u)
			return
		}
	}
}

// sharesGradient reports whether the nodes of the unit, in the order named above, are such a gradient. If so it sets
// the unit's epilogue.
func (g *Graph) sharesGradient(u *Unit, share *Access) bool {
	equal, reduce := &g.Program.Nodes[u.Nodes[0]], &g.Program.Nodes[u.Nodes[2]]
	a, ok := reduce.Attrs.(ir.ReduceAttrs)
	if !ok || a.Kind != ir.Sum || u.Nodes[3] < 0 {
		return false
	}
	for _, j := range u.Nodes {
		if g.constant[j] || g.UnitOf[j] != nil {
			return false
		}
	}
	division, last := &g.Program.Nodes[u.Nodes[3]], u.Nodes[4]
	if by, only := g.onlyReader(reduce.Outputs[0]); !only || by != u.Nodes[3] || division.Op != ir.Div || division.Inputs[1] != reduce.Outputs[0] || !g.leadsTo(share.Source, last) {
		return false
	}
	x := equal.Inputs[0]
	y := g.resolveFlat(equal.Inputs[1])
	groups := geometry.AxisGroups(g.Program.Type(x).Shape, a.Axes)
	if len(groups) != 1 || groups[0].Inner == 1 || groups[0].Inner < leastColumns && groups[0].Length*groups[0].Inner < leastShared || g.Program.Type(x).DType != ir.Float32 || !spreads(&y, groups[0]) || !spreads(share, groups[0]) {
		return false
	}
	if from := resolve(g.Program, g.Def, x); !from.Dense && !g.reduces(x, y.Source) { // elementwise units read slices without storing them
		return false
	}
	slices.Sort(u.Nodes)
	e := NewEpilogue(g.Def[share.Source], g.Program.Nodes[last].Outputs[0])
	e.Upstream, e.Addend = x, y.Source
	u.Fused = e
	return true
}

// reduces reports whether y is a reduction of x in this program, which means that x is stored for it.
func (g *Graph) reduces(x, y ir.Value) bool {
	n := g.Node(y)
	return n != nil && n.Op == ir.Reduce && n.Inputs[0] == x
}

// resolveFlat is resolve that also follows broadcasts through reshapes.
func (g *Graph) resolveFlat(v ir.Value) Access {
	a := resolve(g.Program, g.Def, v)
	for n := g.Node(a.Source); n != nil && n.Op == ir.Reshape; n = g.Node(a.Source) {
		a.Source = n.Inputs[0]
	}
	return a
}

// leadsTo reports whether only the given node reads v, possibly after a reshape.
func (g *Graph) leadsTo(v ir.Value, node int) bool {
	for {
		next, only := g.onlyReader(v)
		if !only || next == node {
			return only
		}
		if n := &g.Program.Nodes[next]; n.Op != ir.Broadcast && n.Op != ir.Reshape || g.UnitOf[next] != nil {
			return false
		}
		v = g.Program.Nodes[next].Outputs[0]
	}
}

// spreads reports whether the access reads the results of a reduction, each one for all elements that it was computed
// from.
func spreads(a *Access, by geometry.AxisGroup) bool {
	if a.Dense || a.Offset != 0 || by.Length == 1 {
		return false
	}
	d := 0
	for _, axis := range [...][2]int{{by.Outer, by.Inner}, {by.Length, 0}, {by.Inner, 1}} {
		if axis[0] == 1 {
			continue
		}
		if d == len(a.Dims) || a.Dims[d] != axis[0] || a.Strides[d] != axis[1] {
			return false
		}
		d++
	}
	return d == len(a.Dims)
}
