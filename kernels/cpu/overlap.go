package cpu

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// overlaps reports whether the unit is an all-reduce that goes on while the replica computes.
func (g *graph) overlaps(u *unit) bool {
	return g.overlap && u.awaits == nil && len(u.nodes) == 1 && g.p.Nodes[u.nodes[0]].Op == ir.AllReduce
}

// addWaits puts a unit that waits for an all-reduce before the first unit that reads its results or, behind the last start, changes a
// variable: if one fails, no variable has changed. Until then the memory of the results is the all-reduce's. Waits come in the order of the
// starts. Since programs have the updates of variables at the end, a bucket of gradients is waited for when the backward pass is over, and
// started where its last gradient is computed.
func (g *graph) addWaits() {
	made := map[ir.Value]*unit{} // by root
	var starts []*unit
	for _, u := range g.units {
		if !g.overlaps(u) {
			continue
		}
		starts = append(starts, u)
		for _, v := range u.writes {
			made[v] = u
		}
	}
	if len(starts) == 0 {
		return
	}
	before := map[*unit]int{} // by start: the unit that it must be complete before
	for t, u := range g.units {
		for _, v := range u.reads {
			r, _ := g.root(v)
			if start := made[r]; start != nil {
				if _, known := before[start]; !known {
					before[start] = t
				}
			}
		}
	}
	waits := make([][]*unit, len(g.units)+1) // waits[t] come before unit t
	limit := g.firstUpdate(starts[len(starts)-1])
	for i := len(starts) - 1; i >= 0; i-- {
		start := starts[i]
		if t, read := before[start]; read {
			limit = min(limit, t)
		}
		w := &unit{nodes: start.nodes, position: start.position, awaits: start, reads: start.writes}
		waits[limit] = append([]*unit{w}, waits[limit]...)
	}
	var order []*unit
	for t := range waits {
		order = append(order, waits[t]...)
		if t < len(g.units) {
			order = append(order, g.units[t])
		}
	}
	g.units = order
}

// firstUpdate returns the first unit behind the given one that changes a variable.
func (g *graph) firstUpdate(behind *unit) int {
	replaces := g.replacements()
	for t := slices.Index(g.units, behind) + 1; t < len(g.units); t++ {
		for _, v := range g.units[t].writes {
			if _, ok := replaces[v]; ok {
				return t
			}
		}
	}
	return len(g.units)
}

// lowerWait is the step that waits for the oldest all-reduce under way.
func (c *compiler) lowerWait(p *placement, u *unit) step {
	n := &p.p.Nodes[u.nodes[0]]
	rt, where := c.rt, fmt.Sprintf("cpu: %v (scope %q)", n.Op, n.Scope)
	return step{name: n.Op.String() + " wait", scope: n.Scope, role: waits, run: func() {
		if err := rt.overlapper.WaitAllReduce(rt.ctx); err != nil {
			rt.fail(fmt.Errorf("%s: %w", where, err))
		}
	}}
}
