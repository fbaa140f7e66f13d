package gemm

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// Product is a product, or a batch of products, that is computed repeatedly with operands at different addresses.
// Planning takes longer than a small product itself, so it is done once. A Product must not run twice at the same time.
type Product[T Float] struct {
	job     job[T]
	plans   plans[T]
	across  *plans[T] // for a B that does not begin at a cache line; nil where that makes no difference
	workers int
	scratch int
	bias    bool
}

// Prepare returns the product that a describes, for pools of that many workers. Of the operands, only the strides
// matter and whether Bias is nil; Run gets the memory.
func Prepare[T Float](a *Args[T], workers int) *Product[T] {
	p := &Product[T]{workers: workers, bias: a.Bias != nil}
	j := &p.job
	j.link()
	j.args = a.normal()
	j.args.Ahead = nil
	if a.M > 0 && a.N > 0 && a.K > 0 && !j.args.isRow() {
		p.plans = newPlans(&j.args, workers)
		p.scratch = p.plans.scratchSize(&j.args, workers)
		if j.args.dependsOnStart() {
			other := j.args
			other.across = true
			across := newPlans(&other, workers)
			p.across, p.scratch = &across, max(p.scratch, across.scratchSize(&other, workers))
		}
	}
	j.args.A, j.args.B, j.args.C, j.args.Bias = nil, nil, nil, nil
	return p
}

// ScratchSize returns the number of elements of scratch memory that Run needs.
func (p *Product[T]) ScratchSize() int { return p.scratch }

// Run computes the product, like the function Run. A nil bias means none.
func (p *Product[T]) Run(workers *pool.Pool, a, b, c, bias, scratch []T) {
	p.RunAhead(workers, a, b, c, bias, scratch, nil)
}

// RunAhead is Run with the Ahead of Args.
func (p *Product[T]) RunAhead(workers *pool.Pool, a, b, c, bias, scratch []T, ahead [][]T) {
	j := &p.job
	n := &j.args
	if n.M <= 0 || n.N <= 0 {
		return
	}
	if workers.Size() != p.workers || (bias != nil) != p.bias {
		panic(fmt.Sprintf("gemm: the product was prepared for %d workers and bias %v, received %d and %v", p.workers, p.bias, workers.Size(), bias != nil))
	}
	n.A, n.B, n.C, n.Bias = a, b, c, bias
	if n.vectors {
		n.A, n.B = b, a
	}
	if workers.Size() <= 1 {
		n.Ahead, j.ahead = ahead, fetched{}
	}
	n.check()
	switch {
	case n.K <= 0:
		n.emptySum()
	case n.isRow():
		runRow(workers, n)
	case len(scratch) < p.scratch:
		panic(fmt.Sprintf("gemm: scratch has %d elements, the product needs %d: ask ScratchSize", len(scratch), p.scratch))
	default:
		plans := &p.plans
		if p.across != nil && straddlesLines(n.B) {
			plans = p.across
		}
		j.plan, j.scratch = *plans.of(workers), scratch
		j.run(workers)
	}
	n.A, n.B, n.C, n.Bias, n.Ahead, j.scratch, j.plan.shared = nil, nil, nil, nil, nil, nil, nil // let go of the caller's memory
}
