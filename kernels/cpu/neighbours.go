package cpu

import (
	"maps"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// mergeNeighbours joins elementwise units that run one after the other over index spaces of the same size and have something to do with
// each other: the second reads what the first reads or computes. The operands are then read once, and what only the two need is
// never stored.
func (g *graph) mergeNeighbours() {
	kept := g.units[:0]
	for _, u := range g.units {
		if n := len(kept); n > 0 && g.mayMerge(kept[n-1], u) {
			g.merge(kept[n-1], u)
			kept[n-1] = u
			continue
		}
		kept = append(kept, u)
	}
	clear(g.units[len(kept):])
	g.units = kept
}

// mayMerge reports whether unit a, which runs right before b, can run as part of it.
func (g *graph) mayMerge(a, b *unit) bool {
	if !a.elementwise || !b.elementwise || a.size != b.size || a.constant != b.constant || len(a.nodes)+len(b.nodes) > maxGroup ||
		len(a.sinks)+len(b.sinks) > maxSinks || a.columns > 0 && b.columns > 0 && a.columns != b.columns {
		return false
	}
	related := false
	for _, v := range b.reads {
		r, _ := g.root(v)
		related = related || slices.Contains(a.reads, v) && g.p.Type(v).Shape.Size() == b.size
		by := g.def[r]
		if by < 0 || g.unitOf[by] != a {
			continue
		}
		if r != v || slices.Contains(a.sinks, by) || !g.readDensely(b, v) {
			return false
		}
		related = true
	}
	return related
}

// readDensely reports whether the unit reads v element by element only.
func (g *graph) readDensely(u *unit, v ir.Value) bool {
	for _, a := range u.accesses {
		if a.source == v && !a.dense {
			return false
		}
	}
	return true
}

// merge makes the nodes of a part of b.
func (g *graph) merge(a, b *unit) {
	b.nodes = append(b.nodes, a.nodes...)
	slices.Sort(b.nodes)
	b.sinks = append(slices.Clone(a.sinks), b.sinks...)
	b.columns = max(a.columns, b.columns)
	for _, i := range slices.Concat(a.nodes, a.sinks) {
		g.unitOf[i] = b
	}
	maps.Copy(b.accesses, a.accesses)
	reads := slices.Clone(a.reads)
	for _, v := range b.reads {
		if by := g.def[v]; (by < 0 || g.unitOf[by] != b) && !slices.Contains(reads, v) {
			reads = append(reads, v)
		}
	}
	b.reads = reads
	for _, i := range b.nodes {
		v := g.p.Nodes[i].Outputs[0]
		if g.needed[v] && !g.isOutput[v] && !slices.ContainsFunc(g.users[v], func(j int) bool { return g.unitOf[j] != b }) {
			g.needed[v] = false
		}
	}
}
