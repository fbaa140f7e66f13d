package comm

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
)

// slots is the number of calls that a replica may have published while others have still to do their share of them.
const slots = 32

// round is what the replicas of a group do until one of them fails; a group that has failed is not used again.
type round struct {
	group  *group
	seats  []seat // by replica
	failed atomic.Pointer[failure]
	parent *round // that fails with this one; nil for that of all replicas

	mu       sync.Mutex
	watchers []func(err error) // told of the failure
}

// seat is what one replica shows to the others.
type seat struct {
	published atomic.Uint64 // calls whose description and values the others may read
	done      atomic.Uint64 // calls of which this replica has done its share: it touches the others' values no more
	calls     [slots]call   // call n is at n % slots

	// For the replica itself: the calls that it started, up to which all must be done, and the oldest that it has not
	// waited for.
	started                [slots]uint64
	oldest, waiting, early int // early: older ones that are complete though it has not waited for them
	_                      [64]byte
}

func newRound(g *group) *round { return &round{group: g, seats: make([]seat, len(g.members))} }

// call returns what a replica brings to a call.
func (r *round) call(replica int, number uint64) *call {
	return &r.seats[replica].calls[number%slots]
}

// describe returns the place for the replica's next call, once nobody reads what was there before.
func (r *round) describe(ctx context.Context, c *communicator) (*call, error) {
	if err := r.failure(); err != nil {
		return nil, err
	}
	n := r.seats[c.replica].published.Load()
	if n >= slots {
		if err := r.finish(ctx, c, n-slots+1); err != nil {
			return nil, err
		}
	}
	return r.call(c.replica, n), nil
}

// publish shows the described call to the others, and returns the number of calls up to it.
func (r *round) publish(c *communicator) uint64 {
	n := r.seats[c.replica].published.Add(1)
	if r.publishedByAll() >= n {
		r.rouse()
	}
	return n
}

// publishedByAll is the number of calls that everybody has published.
func (r *round) publishedByAll() uint64 {
	n := r.seats[0].published.Load()
	for i := 1; i < len(r.seats); i++ {
		n = min(n, r.seats[i].published.Load())
	}
	return n
}

// doneByAll is the number of calls that are complete.
func (r *round) doneByAll() uint64 {
	n := r.seats[0].done.Load()
	for i := 1; i < len(r.seats); i++ {
		n = min(n, r.seats[i].done.Load())
	}
	return n
}

// progress does this replica's share of all calls that everybody has published.
func (r *round) progress(c *communicator) error {
	s := &r.seats[c.replica]
	for n := s.done.Load(); n < r.publishedByAll(); n++ {
		if err := r.failure(); err != nil {
			return err
		}
		err := r.checkCalls(n)
		if err == nil {
			err = r.call(c.replica, n).work(c, r, n)
		}
		if err != nil {
			r.fail(err)
			return r.failure()
		}
		s.done.Store(n + 1)
		if r.doneByAll() > n {
			r.rouse()
		}
	}
	return nil
}

// finish returns when all replicas have done their share of the first n calls.
func (r *round) finish(ctx context.Context, c *communicator, n uint64) error {
	for {
		if r.doneByAll() >= n {
			return nil
		}
		if err := r.progress(c); err != nil {
			return err
		}
		if r.doneByAll() >= n {
			return nil
		}
		if err := r.failure(); err != nil {
			return err
		}
		if err := r.await(ctx, c, n); err != nil {
			return err
		}
	}
}

// ready reports whether a replica that waits for the first n calls has something to do.
func (r *round) ready(c *communicator, n uint64) bool {
	return r.doneByAll() >= n || r.publishedByAll() > r.seats[c.replica].done.Load() || r.failed.Load() != nil
}

// meetSpin is how long a replica looks for the others before it parks.
const meetSpin = 100 * time.Microsecond

// await returns when there may be something to do: it looks for a while, and then sleeps.
func (r *round) await(ctx context.Context, c *communicator, n uint64) error {
	defer flush.Rest().End()
	if r.spin(c, n) {
		return nil
	}
	return r.park(ctx, c, n)
}

func (r *round) spin(c *communicator, n uint64) bool {
	until := time.Now().Add(meetSpin)
	for {
		for range 64 {
			if r.ready(c, n) {
				return true
			}
		}
		goruntime.Gosched()
		if time.Now().After(until) {
			return false
		}
	}
}

// park sleeps until there is something to do or the context ends.
func (r *round) park(ctx context.Context, c *communicator, n uint64) error {
	for {
		c.parked.Store(true)
		if r.ready(c, n) {
			if !c.parked.CompareAndSwap(true, false) {
				<-c.wake
			}
			return nil
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			if !c.parked.CompareAndSwap(true, false) {
				<-c.wake
			}
			if !r.ready(c, n) {
				r.fail(fmt.Errorf("cpu: replica %d stopped waiting for its peers: %w", c.replica, context.Cause(ctx)))
			}
			return nil
		}
	}
}

// rouse wakes all parked replicas.
func (r *round) rouse() {
	for _, m := range r.group.members {
		if m.parked.Load() && m.parked.CompareAndSwap(true, false) {
			m.wake <- struct{}{}
		}
	}
}

// fail ends the round, unless it has failed already.
func (r *round) fail(err error) {
	if !r.failed.CompareAndSwap(nil, &failure{err}) {
		return
	}
	r.rouse()
	if r.parent != nil {
		r.parent.fail(err)
	}
	r.mu.Lock()
	watchers := r.watchers
	r.watchers = nil
	r.mu.Unlock()
	for _, w := range watchers {
		w(err)
	}
}

// watch has a function called when the round fails, at once if it has.
func (r *round) watch(f func(err error)) {
	r.mu.Lock()
	r.watchers = append(r.watchers, f)
	r.mu.Unlock()
	if err := r.failure(); err != nil {
		f(err)
	}
}

// failure is the error that ended the round, or nil.
func (r *round) failure() error {
	if f := r.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// checkCalls compares what the replicas brought. All replicas come to the same result.
func (r *round) checkCalls(number uint64) error {
	first := r.call(0, number)
	for k := range r.seats {
		o := r.call(k, number)
		if o.what != first.what || o.kind != first.kind || o.number != first.number || len(o.values) != len(first.values) {
			return fmt.Errorf("cpu: replicas disagree: replica 0 calls %s %q (%d) with %d values, replica %d calls %s %q (%d) with %d",
				first.what, first.kind, first.number, len(first.values), k, o.what, o.kind, o.number, len(o.values))
		}
		for i, v := range o.values {
			want := first.values[i].Type()
			if t := v.Type(); !t.Equal(want) || len(v.Bytes()) != t.Bytes() {
				return fmt.Errorf("cpu: replicas disagree: %s of value %d: replica 0 brings %v, replica %d brings %v with %d bytes of host memory",
					first.what, i, want, k, t, len(v.Bytes()))
			}
		}
	}
	return nil
}
