package cpu

import "github.com/gokeras/gokeras/kernels/ir"

// hoistUpdates moves the units that compute nothing but new values of variables to the earliest place where they may overwrite the
// old ones: the gradient is then still in the cache and its memory is free for what follows. A program has its updates at
// the end. No variable changes before the last of the all-reduces that go on meanwhile has started: one that fails leaves the variables as they were.
func (g *graph) hoistUpdates() {
	replaces := g.replacements()
	started := 0 // the unit behind the last all-reduce that goes on while the replica computes
	for t, u := range g.units {
		if g.overlaps(u) {
			started = t + 1
		}
	}
	made, read := map[ir.Value]int{}, map[ir.Value][]int{} // by root: the unit that writes it, the units that read it
	for t, u := range g.units {
		for _, v := range u.writes {
			made[v] = t
		}
		for _, v := range u.reads {
			r, _ := g.root(v)
			read[r] = append(read[r], t)
		}
	}
	after := make([][]*unit, len(g.units)+1) // after[t] follow unit t-1
	for t, u := range g.units {
		earliest, ok := started, len(u.writes) > 0 && !u.constant
		for _, v := range u.writes {
			old, replacing := replaces[v]
			ok = ok && replacing && len(read[v]) == 0
			for _, reader := range read[old] {
				if reader != t {
					earliest = max(earliest, reader+1)
				}
			}
		}
		for _, v := range u.reads {
			r, _ := g.root(v)
			if by, computed := made[r]; computed {
				earliest = max(earliest, by+1)
				ok = ok && !g.overlaps(g.units[by]) // to wait for it early would leave nothing to overlap with
			}
		}
		if !ok || earliest > t {
			after[t+1] = append([]*unit{u}, after[t+1]...)
			continue
		}
		after[earliest] = append(after[earliest], u)
	}
	order := g.units[:0:0]
	for _, list := range after {
		order = append(order, list...)
	}
	g.units = order
}

// replacements returns the variables' old values by the roots of their new ones.
func (g *graph) replacements() map[ir.Value]ir.Value {
	replaces := map[ir.Value]ir.Value{}
	for _, out := range g.p.Outputs {
		if out.Alias >= 0 {
			r, _ := g.root(out.Value)
			replaces[r] = g.p.Inputs[out.Alias].Value
		}
	}
	return replaces
}
