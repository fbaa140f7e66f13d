package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// hoistUpdates moves the units that compute nothing but new values of variables to the earliest place where they may overwrite the
// old ones: the gradient is then still in the cache and its memory is free for what follows. A program has its updates at
// the end. No update moves in front of what may fail: a step that fails leaves the variables as they were.
func (g *graph) hoistUpdates() {
	replaces := g.replacements()
	safe := 0 // the unit behind the last one that may fail
	for t, u := range g.units {
		if slices.ContainsFunc(u.nodes, g.mayFail) {
			safe = t + 1
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
		earliest, ok := safe, len(u.writes) > 0 && !u.constant
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
				if g.overlaps(g.units[by]) { // to wait for it early would leave nothing to overlap with
					earliest = max(earliest, t)
				}
			}
		}
		if late := t < safe; !ok || earliest >= t && !late {
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

// mayFail reports whether node i can end a run with an error: it looks at indices, or it meets other replicas. The gradients of ops that look at
// indices get the same ones again.
func (g *graph) mayFail(i int) bool {
	switch op := g.p.Nodes[i].Op; op {
	case ir.Gather, ir.Embedding, ir.Scatter, ir.SparseSoftmaxCrossEntropy, ir.Scan, ir.While, ir.Cond:
		return true
	default:
		return op.IsCollective() && op != ir.ReplicaID
	}
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
