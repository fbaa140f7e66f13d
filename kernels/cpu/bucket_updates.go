package cpu

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	bucketVariable = 1 << 13 // elements of a variable that is updated together with others, at most
	bucketTotal    = 1 << 16 // elements of all of them: so their gradients are still in the cache
)

// bucketUpdates joins the updates of small variables by one rule, such as biases and the scales of normalisations, to one unit: one parallel
// loop over all their elements takes the place of many that are too short to be shared. Large variables are updated each
// where its gradient has just been computed.
func (g *graph) bucketUpdates() {
	replaces, read := g.replacements(), g.readers()
	last := map[string]int{} // by rule: the unit that is still growing
	kept := slices.Clone(g.units)
	for t, u := range g.units {
		rule, ok := g.bucketRule(u)
		if !ok {
			continue
		}
		if ok, awaited := g.updates(u, replaces, read); !ok || awaited { // others read what it computes: a constraint, say
			continue
		}
		if before, open := last[rule]; open && g.updated(kept[before])+g.updated(u) <= bucketTotal {
			g.joinUpdates(kept[before], u)
			kept[before] = nil
		}
		last[rule] = t
	}
	g.units = slices.DeleteFunc(kept, func(u *unit) bool { return u == nil })
}

// bucketRule names what the updates of a bucket have in common, if the unit is the update of a small variable.
func (g *graph) bucketRule(u *unit) (string, bool) {
	n := &g.p.Nodes[u.nodes[0]]
	if len(u.nodes) != 1 || n.Op != ir.OptimizerUpdate || u.constant || g.updated(u) > bucketVariable {
		return "", false
	}
	return fmt.Sprint(n.Attrs, g.p.Type(n.Inputs[0]).DType, n.Inputs[2:4]), true
}

// updated is how many elements of variables a unit of updates computes.
func (g *graph) updated(u *unit) int {
	total := 0
	for _, i := range u.nodes {
		total += g.p.Type(g.p.Nodes[i].Outputs[0]).Shape.Size()
	}
	return total
}

// joinUpdates makes the updates of a part of b.
func (g *graph) joinUpdates(a, b *unit) {
	for _, i := range a.nodes {
		g.unitOf[i] = b
	}
	b.nodes = append(a.nodes, b.nodes...)
	slices.Sort(b.nodes)
	for _, v := range a.reads {
		if !slices.Contains(b.reads, v) {
			b.reads = append(b.reads, v)
		}
	}
	b.writes = append(a.writes, b.writes...)
}
