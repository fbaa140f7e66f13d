package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Collectives run in parallel with the kernels after them, as buckets of gradients do with the backward pass. Until a
// step waits for one, its operands and results keep their memory. It is waited for before the first kernel that reads a
// result, and before a variable is replaced, because it also brings the flag that says whether any replica has failed.
// Collectives inside loops are done at once, when those before the loop are over.

// underWay is the collectives that were begun and not yet waited for, in order.
type underWay struct{ open []begun }

// begun is one of them.
type begun struct {
	step    int // its place in the list of steps
	node    int
	results []ir.Value
	held    []ir.Value // what keeps its memory: operands and results
	late    []ir.Value // of these, what goes back after the wait
}

// last is how many are open.
func (b *underWay) last() int {
	if b == nil {
		return 0
	}
	return len(b.open)
}

// keeps reports whether the memory of a value must stay until a collective is over, and lets it go back then.
func (b *underWay) keeps(v ir.Value) bool {
	if b == nil {
		return false
	}
	for i := range slices.Backward(b.open) {
		if c := &b.open[i]; slices.Contains(c.held, v) {
			c.late = append(c.late, v)
			return true
		}
	}
	return false
}

// brings reports whether a value comes from a collective that is not over.
func (b *underWay) brings(v ir.Value) bool {
	return b != nil && slices.ContainsFunc(b.open, func(c begun) bool { return slices.Contains(c.results, v) })
}

// begun notes that the last step is a collective.
func (s *scope) begun(n *ir.Node, i int) {
	if last := len(*s.steps) - 1; s.underWay != nil && n.Op.IsCollective() && last >= 0 && (*s.steps)[last].Kind == Collect {
		s.underWay.open = append(s.underWay.open, begun{step: last, node: i, results: n.Outputs, held: slices.Concat(n.Inputs, n.Outputs)})
	}
}

// awaitFor waits for what node i needs.
func (s *scope) awaitFor(n *ir.Node, i int, f *fusion) {
	if s.underWay == nil {
		return
	}
	until := 0
	for k, c := range s.underWay.open {
		if f.first[c.node] <= i {
			until = k + 1
		}
	}
	// A loop in which replicas meet needs what all collectives share: the scratch memory and the order of the calls.
	if n.Op == ir.Scan && n.Communicates() || f.kernel[i] && slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return s.committed[v] }) {
		until = len(s.underWay.open)
	}
	s.await(n.Scope, until)
}

// await waits for the oldest open collectives. One that nothing was put after is done in its place.
func (s *scope) await(scope string, until int) {
	if until == 0 {
		return
	}
	b := s.underWay
	var late []ir.Value
	if steps := *s.steps; until > 1 || b.open[0].step < len(steps)-1 {
		for _, c := range b.open[:until] {
			s.plan.Beside++
			steps[c.step].Number = s.plan.Beside
		}
		*s.steps = append(steps, Step{Kind: Await, Scope: scope, Number: s.plan.Beside})
	}
	for _, c := range b.open[:until] {
		late = append(late, c.late...)
	}
	b.open = b.open[until:]
	s.release(late)
}
