package distribute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// overlappedCommunicator is a workerCommunicator, of the one replica in this process, whose all-reduces go on while the
// replica computes. A goroutine makes them in the order of their starts; it ends when none is left. Calls that wait for
// their results let those under way finish first, so that all workers make the same calls in the same order.
type overlappedCommunicator struct {
	*workerCommunicator

	mu                    sync.Mutex
	changed               sync.Cond
	jobs                  [maxUnderWay]job // number n is at n % maxUnderWay
	started, done, waited int
	running               bool
	err                   error
	serve                 func() // made once: a method value would be allocated at each use
}

var _ kernels.Overlapper = (*overlappedCommunicator)(nil)

// job is an all-reduce that was started.
type job struct {
	ctx    context.Context
	kind   ir.Kind
	values []kernels.Buffer
}

// maxUnderWay is how many all-reduces may wait for the network.
const maxUnderWay = 64

func newOverlapped(c *workerCommunicator) *overlappedCommunicator {
	o := &overlappedCommunicator{workerCommunicator: c}
	o.changed.L = &o.mu
	o.serve = o.work
	return o
}

// StartAllReduce implements [kernels.Overlapper].
func (c *overlappedCommunicator) StartAllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && c.started-c.done == maxUnderWay {
		c.changed.Wait()
	}
	if c.err != nil {
		return c.err
	}
	c.jobs[c.started%maxUnderWay] = job{ctx, kind, values}
	c.started++
	if !c.running {
		c.running = true
		go c.serve()
	}
	return nil
}

// work makes the calls until none is left or one fails.
func (c *overlappedCommunicator) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.done < c.started && c.err == nil {
		err := c.transmit(c.jobs[c.done%maxUnderWay])
		if err != nil && c.err == nil {
			c.err = err
		}
		if err == nil {
			c.done++
		}
		c.changed.Broadcast()
	}
	c.running = false
	c.changed.Broadcast()
}

// transmit makes one call, without the lock.
func (c *overlappedCommunicator) transmit(j job) error {
	c.mu.Unlock()
	defer c.mu.Lock()
	if rec := tracing.Active(j.ctx); rec != nil {
		size := 0
		for _, v := range j.values {
			size += v.Type().Bytes()
		}
		defer rec.Span(tracing.Network, "collective", "all_reduce over workers", "", int64(size), time.Now())
	}
	return c.workerCommunicator.AllReduce(j.ctx, j.kind, j.values)
}

// WaitAllReduce implements [kernels.Overlapper].
func (c *overlappedCommunicator) WaitAllReduce(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && c.waited < c.started && c.done <= c.waited {
		c.changed.Wait()
	}
	switch {
	case c.done > c.waited:
		c.waited++
		return nil
	case c.err != nil:
		return c.err
	}
	return errors.New("distribute: a wait for an all_reduce that was not started")
}

// finish lets what is under way finish.
func (c *overlappedCommunicator) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && c.running {
		c.changed.Wait()
	}
	return c.err
}

// AllReduce combines values over all replicas, in place.
func (c *overlappedCommunicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	if err := c.finish(); err != nil {
		return err
	}
	return c.workerCommunicator.AllReduce(ctx, kind, values)
}

// AllGather concatenates equal-sized parts in replica order.
func (c *overlappedCommunicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	if err := c.finish(); err != nil {
		return err
	}
	return c.workerCommunicator.AllGather(ctx, part, whole, axis)
}

// Broadcast copies the value of replica root to all.
func (c *overlappedCommunicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	if err := c.finish(); err != nil {
		return err
	}
	return c.workerCommunicator.Broadcast(ctx, root, value)
}

// Abort makes current and later calls return err, for good. It returns when the call over the network is over, which
// may still use the replica's memory: the other workers make that one too.
func (c *overlappedCommunicator) Abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.changed.Broadcast()
	for c.running {
		c.changed.Wait()
	}
	c.workerCommunicator.Abort(err)
}

// Close returns when the call over the network is over. Calls that wait fail.
func (c *overlappedCommunicator) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = errClosed
	}
	c.changed.Broadcast()
	for c.running {
		c.changed.Wait()
	}
	c.workerCommunicator.Close()
}
