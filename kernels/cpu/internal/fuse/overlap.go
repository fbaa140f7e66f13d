package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Overlaps reports whether the unit is an all-reduce of all replicas that runs while the replica computes.
func (g *Graph) Overlaps(u *Unit) bool {
	if !g.overlap || u.Awaits != nil || len(u.Nodes) != 1 {
		return false
	}
	n := &g.Program.Nodes[u.Nodes[0]]
	return n.Op == ir.AllReduce && n.Attrs.(ir.CollectiveAttrs).Groups == nil
}

// addWaits inserts a unit that waits for an all-reduce. It comes before the first unit that reads the all-reduce's
// results, and before the first one after the last start that changes a variable, so that a failed all-reduce leaves
// all variables unchanged. Until then the memory of the results belongs to the all-reduce. Waits have the order of the
// starts. Because programs have the updates of variables at the end, the all-reduce of a bucket of gradients starts
// when its last gradient has been computed, and the wait comes after the backward pass.
func (g *Graph) addWaits() {
	made := map[ir.Value]*Unit{} // by root
	var starts []*Unit
	for _, u := range g.Units {
		if !g.Overlaps(u) {
			continue
		}
		starts = append(starts, u)
		for _, v := range u.Writes {
			made[v] = u
		}
	}
	if len(starts) == 0 {
		return
	}
	before := map[*Unit]int{} // by start: the unit before which it must be complete
	for t, u := range g.Units {
		for _, v := range u.Reads {
			r, _ := g.Root(v)
			if start := made[r]; start != nil {
				if _, known := before[start]; !known {
					before[start] = t
				}
			}
		}
	}
	waits := make([][]*Unit, len(g.Units)+1) // waits[t] come before unit t
	limit := g.firstUpdate(starts[len(starts)-1])
	for i := len(starts) - 1; i >= 0; i-- {
		start := starts[i]
		if t, read := before[start]; read {
			limit = min(limit, t)
		}
		w := &Unit{Nodes: start.Nodes, position: start.position, Awaits: start, Reads: start.Writes}
		waits[limit] = append([]*Unit{w}, waits[limit]...)
	}
	var order []*Unit
	for t := range waits {
		order = append(order, waits[t]...)
		if t < len(g.Units) {
			order = append(order, g.Units[t])
		}
	}
	g.Units = order
}

// firstUpdate returns the first unit after the given one that changes a variable.
func (g *Graph) firstUpdate(behind *Unit) int {
	replaces := g.replacements()
	for t := slices.Index(g.Units, behind) + 1; t < len(g.Units); t++ {
		for _, v := range g.Units[t].Writes {
			if _, ok := replaces[v]; ok {
				return t
			}
		}
	}
	return len(g.Units)
}
