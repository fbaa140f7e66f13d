package fuse

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	BucketVariable = 1 << 13 // largest number of elements of a variable that is updated together with others
	BucketTotal    = 1 << 16 // largest total, so that the gradients are still in the cache
)

// BucketUpdates joins the updates of small variables by the same rule, such as biases and the scales of normalizations,
// into one unit. One parallel loop over all their elements replaces many that are too short to be shared among workers.
// A large variable is updated on its own, when its gradient has just been computed.
func (g *Graph) BucketUpdates() {
	replaces, read := g.replacements(), g.readers()
	open := map[string][]int{} // by rule: the units of the bucket that is being filled
	size := map[string]int{}   // elements of all of them
	kept := slices.Clone(g.Units)
	for t, u := range g.Units {
		rule, ok := g.bucketRule(u)
		if !ok {
			continue
		}
		if ok, awaited := g.updates(u, replaces, read); !ok || awaited { // others, such as a constraint, read what it computes
			continue
		}
		if n := g.updated(u); size[rule]+n > BucketTotal {
			g.joinUpdates(kept, open[rule])
			open[rule], size[rule] = nil, 0
		}
		open[rule] = append(open[rule], t)
		size[rule] += g.updated(u)
	}
	for _, bucket := range open {
		g.joinUpdates(kept, bucket)
	}
	g.Units = slices.DeleteFunc(kept, func(u *Unit) bool { return u == nil })
}

// bucketRule names what the updates of a bucket have in common. ok is false unless the unit updates a small variable.
func (g *Graph) bucketRule(u *Unit) (string, bool) {
	if len(u.Nodes) == 0 || len(u.Nodes) > 2 { // two: with the conversion of its gradient
		return "", false
	}
	n := &g.Program.Nodes[u.Nodes[len(u.Nodes)-1]]
	if n.Op != ir.OptimizerUpdate || u.Constant || g.updated(u) > BucketVariable {
		return "", false
	}
	return fmt.Sprint(n.Attrs, g.Program.Type(n.Inputs[0]).DType, n.Inputs[2:4], n.Inputs[3+len(n.Outputs):]), true
}

// updated returns how many elements of variables a unit updates.
func (g *Graph) updated(u *Unit) int {
	total := 0
	for _, i := range u.Nodes {
		if n := &g.Program.Nodes[i]; n.Op == ir.OptimizerUpdate {
			total += g.Program.Type(n.Outputs[0]).Shape.Size()
		}
	}
	return total
}

// joinUpdates joins the units at the given places into the last of them, in order.
func (g *Graph) joinUpdates(units []*Unit, at []int) {
	if len(at) < 2 {
		return
	}
	b := units[at[len(at)-1]]
	var nodes []int
	var reads, writes []ir.Value
	seen := map[ir.Value]bool{}
	for k := range at {
		u := units[at[k]]
		nodes, writes = append(nodes, u.Nodes...), append(writes, u.Writes...)
		for _, v := range units[at[len(at)-1-k]].Reads {
			if !seen[v] {
				seen[v] = true
				reads = append(reads, v)
			}
		}
	}
	for _, t := range at[:len(at)-1] {
		units[t] = nil
	}
	for _, i := range nodes {
		g.UnitOf[i] = b
	}
	slices.Sort(nodes)
	b.Nodes, b.Reads, b.Writes = nodes, reads, writes
}
