package pass

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MergeAllReduces returns the pass that merges the all-reduces of a bucket into one call.
func MergeAllReduces() Pass { return New("merge all-reduces", mergeAllReduces) }

// mergeAllReduces merges those all-reduces of a bucket that can be launched together: no result may be needed before
// the last of them. All replicas run the same program, so they merge alike.
func mergeAllReduces(p *ir.Program) (*ir.Program, error) {
	first := firstReaders(p)
	type key struct {
		kind   ir.Kind
		bucket int
		groups string
	}
	open := map[key][]int{}  // the nodes of a call, still growing
	calls := map[int][]int{} // by the last node of a call
	merged := map[int]bool{} // nodes that are part of the call of a later node
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op != ir.AllReduce {
			continue
		}
		a := n.Attrs.(ir.CollectiveAttrs)
		k := key{a.Kind, a.Bucket, fmt.Sprint(a.Groups)}
		group := open[k]
		if slices.ContainsFunc(group, func(j int) bool { return first[j] <= i }) {
			group = nil
		}
		if len(group) > 0 {
			last := group[len(group)-1]
			merged[last] = true
			delete(calls, last)
		}
		group = append(slices.Clone(group), i)
		open[k], calls[i] = group, group
	}
	if len(merged) == 0 {
		return p, nil
	}
	r := NewRewriter(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if merged[i] {
			continue
		}
		parts := []int{i}
		if group := calls[i]; len(group) > 1 {
			parts = group
		}
		if err := r.joinNodes(n, parts); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

// joinNodes adds one node with the operands and results of all the parts, in order.
func (r *Rewriter) joinNodes(n *ir.Node, parts []int) error {
	var in []ir.Value
	for _, j := range parts {
		in = append(in, r.Operands(&r.From.Nodes[j])...)
	}
	out, err := r.To.Add(n.Scope, n.Op, n.Attrs, in...)
	if err != nil {
		return err
	}
	for _, j := range parts {
		part := &r.From.Nodes[j]
		if err := r.Define(part, out[:len(part.Outputs)]); err != nil {
			return err
		}
		out = out[len(part.Outputs):]
	}
	return nil
}

// firstReaders returns, by node, the first node that reads any of its results; len(p.Nodes) if none does.
func firstReaders(p *ir.Program) []int {
	def := make([]int, p.NumValues())
	for i := range def {
		def[i] = -1
	}
	first := ints.Repeat(len(p.Nodes), len(p.Nodes))
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			if j := def[v]; j >= 0 {
				first[j] = min(first[j], i)
			}
		}
		for _, v := range p.Nodes[i].Outputs {
			def[v] = i
		}
	}
	return first
}
