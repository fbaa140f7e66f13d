package data

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// result is an element or the error that ends the pass.
type result struct {
	element Batch
	err     error
}

// Prefetch computes up to n elements ahead in a goroutine, so that the stages before it work while the consumer does.
// It changes nothing else. If a pass ends early, up to n elements were computed in vain.
func (p *Pipeline) Prefetch(n int) *Pipeline {
	m := p.then("Prefetch")
	if n < 1 || n > mostAhead {
		return m.fail("%d elements; expected 1 to %d", n, mostAhead)
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			inner, cancel := context.WithCancel(ctx)
			results := make(chan result, n-1) // and one in the hand of the goroutine
			var died grave
			defer died.rise()
			var producer sync.WaitGroup
			producer.Go(func() {
				defer close(results)
				defer died.bury()
				for element, err := range p.Batches(inner, epoch) {
					select {
					case results <- result{element, err}:
					case <-inner.Done():
						return
					}
				}
			})
			defer producer.Wait()
			defer cancel()
			yieldResults(ctx, results, yield)
		}
	}
	return m
}

// yieldResults passes results on until they end, an error is among them, the consumer has enough, or ctx ends.
func yieldResults(ctx context.Context, results <-chan result, yield func(Batch, error) bool) {
	for {
		select {
		case r, ok := <-results:
			if !ok || !yield(r.element, r.err) || r.err != nil {
				return
			}
		case <-ctx.Done():
			return // Batches yields the context's error
		}
	}
}

// ParallelMap is Map with up to the given number of calls of f at the same time; workers = 0 means one for each CPU.
// The elements keep their order, and an error of f comes after the elements before it, so the result is the same as
// that of Map. f must be safe for concurrent use. If a pass ends early, up to workers + 2 elements were read in vain.
func (p *Pipeline) ParallelMap(workers int, f MapFunc) *Pipeline {
	m := p.then("ParallelMap")
	workers = workersOrCPUs(workers)
	switch {
	case f == nil:
		return m.fail("the function is nil")
	case workers < 0 || workers > mostAhead:
		return m.fail("%d workers; expected 1 to %d, or 0 for one for each CPU", workers, mostAhead)
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			inOrder(ctx, workers, workers, yield, func(inner context.Context, submit func(task) bool) {
				i := 0
				for element, err := range p.Batches(inner, epoch) {
					t := func(ctx context.Context) (Batch, error) { return Batch{}, err }
					if err == nil {
						number := i
						t = func(ctx context.Context) (Batch, error) { return m.apply(ctx, f, number, element) }
					}
					if !submit(t) {
						return
					}
					i++
				}
			})
		}
	}
	return m
}

// mostAhead is the largest number of elements in progress. Memory for a slot for each of them is allocated at the
// start.
const mostAhead = 1 << 20

// workersOrCPUs replaces 0 by the number of CPUs that the program may use.
func workersOrCPUs(workers int) int {
	if workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}

// task computes one element.
type task func(context.Context) (Batch, error)

// inOrder runs the tasks that produce submits in worker goroutines and yields their results in the order of submission.
// submit blocks while limit results are in progress or waiting, and returns false when the pass is over. inOrder
// returns after all goroutines that it started.
func inOrder(ctx context.Context, workers, limit int, yield func(Batch, error) bool, produce func(ctx context.Context, submit func(task) bool)) {
	type job struct {
		run  task
		done chan result
	}
	inner, cancel := context.WithCancel(ctx)
	work := make(chan job)
	queue := make(chan chan result, limit)
	var died grave
	defer died.rise()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	worker := func() {
		for j := range work {
			r := result{err: errDied}
			func() {
				defer died.bury()
				r.element, r.err = j.run(inner)
			}()
			j.done <- r // has a place for it
		}
	}
	running.Go(func() {
		defer close(queue)
		defer close(work)
		defer died.bury()
		started := 0
		produce(inner, func(t task) bool {
			if started < workers { // no more than there are tasks
				started++
				running.Go(worker)
			}
			j := job{run: t, done: make(chan result, 1)}
			select {
			case queue <- j.done:
			case <-inner.Done():
				return false
			}
			select {
			case work <- j:
				return true
			case <-inner.Done():
				return false
			}
		})
	})
	for {
		select {
		case done, ok := <-queue:
			if !ok {
				return
			}
			select {
			case r := <-done:
				if r.err == errDied || !yield(r.element, r.err) || r.err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
