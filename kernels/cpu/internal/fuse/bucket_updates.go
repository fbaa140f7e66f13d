package fuse

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	BucketVariable = 1 << 13 // elements of a variable that is updated together with others, at most
	BucketTotal    = 1 << 16 // elements of all of them: so their gradients are still in the cache
)

// BucketUpdates joins the updates of small variables by one rule, such as biases and the scales of normalizations, to
// one unit: one parallel loop over all their elements takes the place of many that are too short to be shared. Large
// variables are updated each where its gradient has just been computed.
func (g *Graph) BucketUpdates() {
	replaces, read := g.replacements(), g.readers()
	last := map[string]int{} // by rule: the unit that is still growing
	kept := slices.Clone(g.Units)
	for t, u := range g.Units {
		rule, ok := g.bucketRule(u)
		if !ok {
			continue
		}
		if ok, awaited := g.updates(u, replaces, read); !ok || awaited { // others read what it computes: a constraint, say
			continue
		}
		if before, open := last[rule]; open && g.updated(kept[before])+g.updated(u) <= BucketTotal {
			g.joinUpdates(kept[before], u)
			kept[before] = nil
		}
		last[rule] = t
	}
	g.Units = slices.DeleteFunc(kept, func(u *Unit) bool { return u == nil })
}

// bucketRule names what the updates of a bucket have in common, if the unit is the update of a small variable.
func (g *Graph) bucketRule(u *Unit) (string, bool) {
	n := &g.Program.Nodes[u.Nodes[0]]
	if len(u.Nodes) != 1 || n.Op != ir.OptimizerUpdate || u.Constant || g.updated(u) > BucketVariable {
		return "", false
	}
	return fmt.Sprint(n.Attrs, g.Program.Type(n.Inputs[0]).DType, n.Inputs[2:4]), true
}

// updated is how many elements of variables a unit of updates computes.
func (g *Graph) updated(u *Unit) int {
	total := 0
	for _, i := range u.Nodes {
		total += g.Program.Type(g.Program.Nodes[i].Outputs[0]).Shape.Size()
	}
	return total
}

// joinUpdates makes the updates of a part of b.
func (g *Graph) joinUpdates(a, b *Unit) {
	for _, i := range a.Nodes {
		g.UnitOf[i] = b
	}
	b.Nodes = append(a.Nodes, b.Nodes...)
	slices.Sort(b.Nodes)
	for _, v := range a.Reads {
		if !slices.Contains(b.Reads, v) {
			b.Reads = append(b.Reads, v)
		}
	}
	b.Writes = append(a.Writes, b.Writes...)
}
