package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// lateGradients is the pass for large gradients that are a product of few rows, or the sums of few rows of a table.
// With a scaled loss, all gradients are checked for finiteness before any variable is updated. Such a gradient would be
// written, read for the check, and read again when it has left the cache. The pass therefore duplicates its node. The
// check has its own copy, which a bound of the operands mostly makes unnecessary (finite_product.go), and the other
// copy runs right before the update, as in training without a scale.
func lateGradients() pass.Pass {
	return pass.New("late gradients", func(p *ir.Program) (*ir.Program, error) {
		late := findLateGradients(p)
		if len(late) == 0 {
			return p, nil
		}
		r := pass.NewRewriter(p)
		for i := range p.Nodes {
			n := &p.Nodes[i]
			in := r.Operands(n)
			if first := late[i]; first != nil {
				out, err := r.To.Add(first.Scope, first.Op, first.Attrs, r.Operands(first)...)
				if err != nil {
					return nil, err
				}
				in[1] = out[0]
			}
			if err := r.KeepWith(n, in); err != nil {
				return nil, err
			}
		}
		return r.Finish(), nil
	})
}

// findLateGradients returns, by update, the nodes of gradients that only the update and the check read.
func findLateGradients(p *ir.Program) map[int]*ir.Node {
	late := map[int]*ir.Node{}
	gated := func(n ir.Node) bool { return n.Op == ir.OptimizerUpdate && len(n.Inputs) == 5+len(n.Outputs) }
	if !slices.ContainsFunc(p.Nodes, gated) {
		return nil
	}
	uses, def := pass.Uses(p)
	readers := pass.Readers(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !gated(*n) {
			continue
		}
		v := n.Inputs[1]
		asks := func(i int) bool { return onlyChecksFinite(p, &p.Nodes[i], readers, uses) }
		if def[v] >= 0 && uses[v] == 2 && fuse.IsBounded(p, &p.Nodes[def[v]]) && slices.ContainsFunc(readers[v], asks) {
			late[i] = &p.Nodes[def[v]]
		}
	}
	return late
}

// onlyChecksFinite reports whether a node only checks that all numbers of its operand are finite, possibly after
// rounding them to float16.
func onlyChecksFinite(p *ir.Program, n *ir.Node, readers [][]int, uses []int) bool {
	only := func() bool { v := n.Outputs[0]; return uses[v] == 1 && len(readers[v]) == 1 }
	next := func() *ir.Node { return &p.Nodes[readers[n.Outputs[0]][0]] }
	if n.Op == ir.Convert && p.Type(n.Outputs[0]).DType == ir.Float16 && only() {
		n = next()
	}
	if n.Op != ir.IsFinite || !only() {
		return false
	}
	n = next()
	a, ok := n.Attrs.(ir.ReduceAttrs)
	return ok && a.Kind == ir.And && len(p.Type(n.Outputs[0]).Shape) == 0
}
