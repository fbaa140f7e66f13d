package fuse

import (
	"maps"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// mergeNeighbours joins successive elementwise units over index spaces of the same size if the second reads what the
// first reads or computes. The operands are then read only once, and values that only these two need are never stored.
func (g *Graph) mergeNeighbours() {
	kept := g.Units[:0]
	for _, u := range g.Units {
		if n := len(kept); n > 0 && g.mayMerge(kept[n-1], u) {
			g.merge(kept[n-1], u)
			kept[n-1] = u
			continue
		}
		kept = append(kept, u)
	}
	clear(g.Units[len(kept):])
	g.Units = kept
}

// mayMerge reports whether unit a, which runs right before b, can run as part of it.
func (g *Graph) mayMerge(a, b *Unit) bool {
	if !a.Elementwise || !b.Elementwise || a.Size != b.Size || a.Constant != b.Constant ||
		!fits(len(a.Nodes)+len(b.Nodes)+g.joined(a)+g.joined(b), len(a.Accesses)+len(b.Accesses)) && !g.fitsLookups(b, a.Nodes...) ||
		len(a.Sinks)+len(b.Sinks) > maxSinks || a.Columns > 0 && b.Columns > 0 && a.Columns != b.Columns {
		return false
	}
	related := false
	for _, v := range b.Reads {
		r, _ := g.Root(v)
		related = related || slices.Contains(a.Reads, v) && (g.Program.Type(v).Shape.Size() == b.Size || sharePart(a, b, v))
		by := g.Def[r]
		if by < 0 || g.UnitOf[by] != a {
			continue
		}
		if r != v || slices.Contains(a.Sinks, by) || !g.readDensely(b, v) {
			return false
		}
		related = true
	}
	return related
}

// sharePart reports whether both units read the same part of v for the same elements, without repeating it.
func sharePart(a, b *Unit, v ir.Value) bool {
	for _, x := range a.Accesses {
		if x.Source != v || x.Dense || slices.Contains(x.Strides, 0) || len(x.Dims) == 0 {
			continue
		}
		for _, y := range b.Accesses {
			if y.Source == v && y.Offset == x.Offset && slices.Equal(x.Dims, y.Dims) && slices.Equal(x.Strides, y.Strides) {
				return true
			}
		}
	}
	return false
}

// readDensely reports whether the unit reads v element by element only.
func (g *Graph) readDensely(u *Unit, v ir.Value) bool {
	if slices.Contains(u.Tables, v) {
		return false
	}
	for _, a := range u.Accesses {
		if a.Source == v && !a.Dense {
			return false
		}
	}
	return true
}

// merge moves the nodes of a into b.
func (g *Graph) merge(a, b *Unit) {
	b.Nodes = append(b.Nodes, a.Nodes...)
	slices.Sort(b.Nodes)
	b.Sinks = append(slices.Clone(a.Sinks), b.Sinks...)
	b.Columns = max(a.Columns, b.Columns)
	for _, i := range ints.Concat(a.Nodes, a.Sinks) {
		g.UnitOf[i] = b
	}
	maps.Copy(b.Accesses, a.Accesses)
	b.Tables = append(b.Tables, a.Tables...)
	reads := slices.Clone(a.Reads)
	for _, v := range b.Reads {
		if by := g.Def[v]; (by < 0 || g.UnitOf[by] != b) && !slices.Contains(reads, v) {
			reads = append(reads, v)
		}
	}
	b.Reads = reads
	for _, i := range b.Nodes {
		v := g.Program.Nodes[i].Outputs[0]
		if g.Needed[v] && !g.IsOutput[v] && !slices.ContainsFunc(g.Users[v], func(j int) bool { return g.UnitOf[j] != b }) {
			g.Needed[v] = false
		}
	}
}
