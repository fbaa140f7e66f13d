package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// smallResult is the size, in bytes, up to which a value is negligible beside variables: a counter as a float, a norm.
const smallResult = 256

// ScheduleUpdates moves units that compute little besides new values of variables to the earliest place where they may
// overwrite the old ones. The gradient is then still in the cache, and its memory becomes free for what follows.
// Programs have their updates at the end. No update moves before a step that may fail, because a failed step must leave
// the variables unchanged.
//
// [pass.ScheduleUpdates] does this with the nodes of a program, for backends that fuse later. Here units move instead,
// because a product that updates its variable itself, or a wait for communication, exists only as a unit, and what a
// unit reads from memory is known only after fusion.
//
// [pass.ScheduleUpdates]: https://pkg.go.dev/github.com/gokeras/gokeras/kernels/ir/pass#ScheduleUpdates
func (g *Graph) ScheduleUpdates() {
	replaces := g.replacements()
	safe := 0 // the unit after the last one that may fail
	for t, u := range g.Units {
		if slices.ContainsFunc(u.Nodes, func(i int) bool { return g.Program.Nodes[i].Op.Traits().MayFail }) {
			safe = t + 1
		}
	}
	made, read := ints.Repeat(-1, g.Program.NumValues()), g.readers() // by root: the unit that writes it, the units that read it
	for t, u := range g.Units {
		for _, v := range u.Writes {
			made[v] = t
		}
	}
	after := make([][]*Unit, len(g.Units)+1) // after[t] follow unit t-1
	stays := make([]*Unit, len(g.Units)+1)   // and come after this one, if it is not nil
	place := make([]int, len(g.Units))       // by unit: which of them it is in
	for t, u := range g.Units {
		ok, awaited := g.updates(u, replaces, read)
		earliest := safe
		for _, v := range u.Writes {
			old, replacing := replaces[v]
			if !replacing {
				continue
			}
			for _, reader := range read[old] {
				if reader != t {
					earliest = max(earliest, reader+1)
				}
			}
		}
		for _, v := range u.Reads {
			r, _ := g.Root(v)
			if by := made[r]; by >= 0 {
				earliest = max(earliest, place[by])
				if g.Overlaps(g.Units[by]) { // waiting for it early would leave nothing to overlap
					earliest = max(earliest, t)
				}
			}
		}
		place[t] = t + 1
		if late := t < safe; ok && !u.Constant && (earliest < t || late && !awaited) {
			place[t] = earliest
			after[earliest] = append(after[earliest], u)
			continue
		}
		stays[t+1] = u
	}
	order := make([]*Unit, 0, len(g.Units))
	for t, list := range after {
		if u := stays[t]; u != nil {
			order = append(order, u)
		}
		order = append(order, list...)
	}
	g.Units = order
}

// readers returns the units that read each value from memory, by the value's root.
func (g *Graph) readers() [][]int {
	var list []pass.Use
	for t, u := range g.Units {
		for _, v := range u.Reads {
			r, _ := g.Root(v)
			list = append(list, pass.Use{Value: r, By: t})
		}
	}
	return pass.ByValue(list, g.Program.NumValues())
}

// updates reports whether the unit computes only new values of variables that no unit reads, and small values; awaited
// says that other units read the small values.
func (g *Graph) updates(u *Unit, replaces map[ir.Value]ir.Value, read [][]int) (ok, awaited bool) {
	for _, v := range u.Writes {
		_, replacing := replaces[v]
		readers := len(read[v])
		switch {
		case replacing && readers == 0:
			ok = true
		case replacing || g.Program.Type(v).Bytes() > smallResult:
			return false, false
		case readers > 0:
			awaited = true
		}
	}
	return ok, awaited
}

// replacements returns the old values of variables by the roots of their new values.
func (g *Graph) replacements() map[ir.Value]ir.Value {
	replaces := map[ir.Value]ir.Value{}
	for _, out := range g.Program.Outputs {
		if out.Alias >= 0 {
			r, _ := g.Root(out.Value)
			replaces[r] = g.Program.Inputs[out.Alias].Value
		}
	}
	return replaces
}
