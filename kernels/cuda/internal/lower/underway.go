package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Collectives run concurrently with the kernels after them, as buckets of gradients do with the backward pass. Until a
// step waits for one, its operands and results keep their memory. The wait comes before the first kernel that reads a
// result, and before a variable is replaced, because a collective also delivers the flag that says whether any replica
// has failed. Collectives inside loops run synchronously, after those before the loop have finished.

// underWay holds the collectives that were begun and not yet waited for, in order.
type underWay struct{ open []begun }

// begun is such a collective.
type begun struct {
	step    int // its index in the list of steps
	node    int
	results []ir.Value
	held    []ir.Value // operands and results, which keep their memory
	late    []ir.Value // those of them to be freed after the wait
}

// last is the number of open collectives, so that await waits for all.
func (b *underWay) last() int {
	if b == nil {
		return 0
	}
	return len(b.open)
}

// keeps reports whether a value's memory must stay until a collective has finished, and then frees it at that time.
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

// brings reports whether a value is the result of an unfinished collective.
func (b *underWay) brings(v ir.Value) bool {
	return b != nil && slices.ContainsFunc(b.open, func(c begun) bool { return slices.Contains(c.results, v) })
}

// begun records that the last step is a collective.
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
	// A loop in which replicas communicate needs what all collectives share: the scratch memory and the order of the
	// calls.
	if n.Op == ir.Scan && n.Communicates() || f.kernel[i] && slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return s.committed[v] }) {
		until = len(s.underWay.open)
	}
	s.await(n.Scope, until)
}

// await waits for the oldest open collectives. If no steps follow a collective, it is made synchronous instead.
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
