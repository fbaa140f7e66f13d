package distribute

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// overlappedCommunicator is a workerCommunicator, of the one replica in this process, whose all-reduces run while the
// replica computes. A goroutine makes them in the order in which they were started, and ends when none is left. Short
// ones are delayed until the replica waits, or until a long one follows: starting a goroutine and waiting for it would
// take longer than they do. Synchronous calls let those in progress finish first, so that all workers make the same
// calls in the same order.
type overlappedCommunicator struct {
	*workerCommunicator

	mu                    sync.Mutex
	changed               sync.Cond
	jobs                  [maxUnderWay]job // number n is at n % maxUnderWay
	started, done, waited int
	running               bool // somebody makes calls
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

// maxUnderWay is the largest number of all-reduces that wait for the network.
const maxUnderWay = 64

// shortCall is the largest size of a short all-reduce, in bytes.
const shortCall = 32 << 10

func (j *job) bytes() int {
	size := 0
	for _, v := range j.values {
		size += v.Type().Bytes()
	}
	return size
}

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
	if c.started-c.done == maxUnderWay {
		c.until(c.done + 1)
	}
	if c.err != nil {
		return c.err
	}
	j := &c.jobs[c.started%maxUnderWay]
	*j = job{ctx, kind, values}
	c.started++
	if !c.running && j.bytes() > shortCall {
		c.running = true
		go c.serve()
	}
	return nil
}

// until returns when the first n calls are made or one has failed. It makes them itself if no goroutine does. The
// caller holds the lock.
func (c *overlappedCommunicator) until(n int) {
	for c.err == nil && c.done < n {
		if c.running {
			c.changed.Wait()
			continue
		}
		c.running = true
		c.make(n)
	}
}

// work makes the calls until none is left or one fails.
func (c *overlappedCommunicator) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make(math.MaxInt)
}

// make makes those of the first n calls that were started, until one fails. The caller holds the lock.
func (c *overlappedCommunicator) make(n int) {
	for c.done < min(n, c.started) && c.err == nil {
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
		defer rec.Span(tracing.Network, "collective", "all_reduce over workers", "", int64(j.bytes()), time.Now())
	}
	return c.workerCommunicator.AllReduce(j.ctx, j.kind, j.values)
}

// WaitAllReduce implements [kernels.Overlapper].
func (c *overlappedCommunicator) WaitAllReduce(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited < c.started {
		c.until(c.waited + 1)
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

// finish waits for calls in progress.
func (c *overlappedCommunicator) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until(c.started)
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

// Abort makes current and all later calls return err. It waits for the call on the network to end, because that may
// still use the replica's memory; the other workers make this call too.
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

// Close waits for the call on the network to end. Waiting calls fail.
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
