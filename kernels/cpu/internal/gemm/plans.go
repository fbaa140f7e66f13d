package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/pool"

// plans holds a product's plans for one worker and for all workers of a pool. Fewer workers than a pool has room for
// work in it if the process is limited to fewer processors than the machine has.
type plans[T Float] struct {
	alone, together plan[T]
	same            bool // the pool has one worker
}

func newPlans[T Float](a *Args[T], workers int) plans[T] {
	p := plans[T]{alone: newPlan(a, 1), same: workers <= 1}
	if !p.same {
		p.together = newPlan(a, workers)
	}
	return p
}

// of returns the plan for the workers that are active in the pool now.
func (p *plans[T]) of(workers *pool.Pool) *plan[T] {
	if p.same || workers.Workers() <= 1 {
		return &p.alone
	}
	return &p.together
}

// scratchSize is what the larger of the two plans needs in a pool of the given size.
func (p plans[T]) scratchSize(a *Args[T], workers int) int {
	size := p.alone.scratchSize(a, workers)
	if !p.same {
		size = max(size, p.together.scratchSize(a, workers))
	}
	return size
}
