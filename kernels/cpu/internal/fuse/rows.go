package fuse

import (
	"maps"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Dividing rows by their norm, or subtracting their mean, is one unit. Its blocks are whole rows, which stay in the
// cache from the sums to the results. The sums, and what is computed from them, have one element for each row.

// leastJoined is the length of rows from which on a call for each is cheap compared with the row.
const leastJoined = 64

// joinRows joins three units: one that reduces rows, the next one, which computes with the results, and the one after
// that, which combines these with whole rows in a single operation. If it has several operations, a chain saves more.
func (g *Graph) joinRows() {
	kept := g.Units[:0]
	for _, u := range g.Units {
		if n := len(kept); n > 1 && g.mayJoinRows(kept[n-2], kept[n-1], u) {
			g.mergeRows(kept[n-2], kept[n-1])
			g.mergeRows(kept[n-1], u)
			kept = append(kept[:n-2], u)
			continue
		}
		kept = append(kept, u)
	}
	clear(g.Units[len(kept):])
	g.Units = kept
}

// mayJoinRows reports whether unit a reduces rows, unit b computes with one element for each row, and unit c combines
// these elements with whole rows.
func (g *Graph) mayJoinRows(a, b, c *Unit) bool {
	if !a.Elementwise || !b.Elementwise || !c.Elementwise || a.Constant || b.Constant || c.Constant || a.Rows > 0 ||
		len(a.Tables)+len(b.Tables)+len(c.Tables)+len(b.Sinks)+len(c.Sinks) > 0 || len(c.Nodes) != 1 || a.Columns < leastJoined || a.Columns > MaxColumns ||
		a.Size != c.Size || b.Size*a.Columns != a.Size || a.Size == a.Columns || !fits(len(a.Nodes)+len(a.Sinks)+len(b.Nodes), len(a.Accesses)+len(b.Accesses)) {
		return false
	}
	for _, i := range a.Sinks {
		if s, ok := g.SinkOf(&g.Program.Nodes[i]); !ok || s.Columns != a.Columns || s.Leading {
			return false
		}
	}
	for _, i := range ints.Concat(a.Sinks, b.Nodes, c.Nodes) {
		if d := g.Program.Type(g.Program.Nodes[i].Outputs[0]).DType; d != ir.Float32 && d != ir.Float64 {
			return false
		}
	}
	for _, x := range b.Accesses {
		if !x.Scalar() && !(x.Dense && g.Program.Type(x.Source).Shape.Size() == b.Size) {
			return false
		}
	}
	related := false
	for _, x := range c.Accesses {
		by := g.Def[x.Source]
		ofRows := by >= 0 && (g.UnitOf[by] == a || g.UnitOf[by] == b) && g.Program.Type(x.Source).Shape.Size() == b.Size
		related = related || ofRows
		root, _ := g.Root(x.Source)
		if by = g.Def[root]; ofRows && !x.ofRows(b.Size, a.Columns) || !ofRows && by >= 0 && (g.UnitOf[by] == a || g.UnitOf[by] == b) && (root != x.Source || !x.Dense) {
			return false
		}
	}
	return related
}

// ofRows reports whether the access reads one element for each row.
func (a *Access) ofRows(rows, columns int) bool {
	return !a.Dense && a.Offset == 0 && slices.Equal(a.Dims, []int{rows, columns}) && slices.Equal(a.Strides, []int{1, 0})
}

// mergeRows moves the nodes of a into b.
func (g *Graph) mergeRows(a, b *Unit) {
	if b.Rows = a.Rows; b.Rows == 0 {
		b.Rows = b.Size
	}
	b.Columns, b.Size = a.Columns, a.Size
	maps.Copy(b.Accesses, a.Accesses)
	for _, i := range ints.Concat(a.Nodes, a.Sinks) {
		g.UnitOf[i] = b
		b.Nodes = append(b.Nodes, i)
		if n := &g.Program.Nodes[i]; n.Op == ir.Reduce {
			b.Accesses[n.Inputs[0]] = resolve(g.Program, g.Def, n.Inputs[0])
		}
	}
	slices.Sort(b.Nodes)
	reads := slices.Clone(a.Reads)
	for _, v := range b.Reads {
		if by := g.Def[v]; (by < 0 || g.UnitOf[by] != b) && !slices.Contains(reads, v) {
			reads = append(reads, v)
		}
	}
	b.Reads = reads
	for _, i := range b.Nodes {
		v := g.Program.Nodes[i].Outputs[0]
		g.Needed[v] = g.Needed[v] && !g.staysIn(b, v)
	}
}

// staysIn reports whether only the unit reads v.
func (g *Graph) staysIn(u *Unit, v ir.Value) bool {
	if g.IsOutput[v] {
		return false
	}
	for _, i := range g.Users[v] {
		n := &g.Program.Nodes[i]
		switch {
		case g.UnitOf[i] == u:
		case g.UnitOf[i] == nil && (n.Op == ir.Broadcast || n.Op == ir.Reshape) && g.staysIn(u, n.Outputs[0]):
		default:
			return false
		}
	}
	return true
}
