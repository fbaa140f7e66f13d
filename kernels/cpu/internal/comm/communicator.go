package comm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// group connects replicas in one process. In a collective call everybody publishes what it brings and goes on. Once all
// have published, every replica combines its share of the elements, in replica order, and stores it in everybody's
// value: when it comes to its next call, or when it needs the result. The result is there when all have done their
// share. So nobody waits before it must, the work is shared, all replicas hold the same bits, and these do not depend
// on who came first.
type group struct {
	members []*communicator
	round   *round // of the calls

	mu   sync.Mutex
	subs map[string][]*communicator // groups of some of the members, by replica; see Split
}

type failure struct{ err error }

// communicator is one replica's end.
type communicator struct {
	group   *group
	replica int
	scratch [2][commBlock]float32 // for half precision

	parked atomic.Bool
	wake   chan struct{} // capacity 1: sent to by whoever turned parked from true to false
}

var (
	_ kernels.Communicator = (*communicator)(nil)
	_ kernels.Overlapper   = (*communicator)(nil)
)

// call is what a replica brings to a collective.
type call struct {
	what   string
	kind   ir.Kind
	number int // axis or root
	values []kernels.Buffer
	other  [2]kernels.Buffer // backs values of calls with a fixed number
	work   func(c *communicator, r *round, number uint64) error
}

// New connects so many replicas of this process. They must run in goroutines of their own.
func New(replicas int) []kernels.Communicator {
	g := &group{}
	all := make([]kernels.Communicator, replicas)
	for i := range all {
		c := &communicator{group: g, replica: i, wake: make(chan struct{}, 1)}
		g.members = append(g.members, c)
		all[i] = c
	}
	g.round = newRound(g)
	return all
}

// Replica is this end's number.
func (c *communicator) Replica() int { return c.replica }

// Replicas is the number of ends.
func (c *communicator) Replicas() int { return len(c.group.members) }

// AllReduce combines values over the replicas, in place.
func (c *communicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	r := c.group.round
	d, err := r.describe(ctx, c)
	if err != nil {
		return err
	}
	d.what, d.kind, d.number, d.values, d.work = "all_reduce", kind, 0, values, (*communicator).combineShare
	return r.finish(ctx, c, r.publish(c))
}

// StartAllReduce begins what AllReduce does; see [kernels.Overlapper].
func (c *communicator) StartAllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	r := c.group.round
	s := &r.seats[c.replica]
	if s.waiting == slots { // no room: the oldest is finished now, and its wait will find that
		n := s.started[s.oldest%slots]
		s.oldest++
		s.waiting--
		s.early++
		if err := r.finish(ctx, c, n); err != nil {
			return err
		}
	}
	d, err := r.describe(ctx, c)
	if err != nil {
		return err
	}
	d.what, d.kind, d.number, d.values, d.work = "all_reduce", kind, 0, values, (*communicator).combineShare
	s.started[(s.oldest+s.waiting)%slots] = r.publish(c)
	s.waiting++
	return r.progress(c)
}

// WaitAllReduce returns when the oldest all-reduce that was started is complete.
func (c *communicator) WaitAllReduce(ctx context.Context) error {
	r := c.group.round
	s := &r.seats[c.replica]
	if s.early > 0 {
		s.early--
		return r.failure()
	}
	if s.waiting == 0 {
		if err := r.failure(); err != nil { // which may have taken what was started with it
			return err
		}
		return fmt.Errorf("cpu: replica %d waits for an all_reduce that it has not started", c.replica)
	}
	n := s.started[s.oldest%slots]
	s.oldest++
	s.waiting--
	return r.finish(ctx, c, n)
}

// AllGather concatenates the parts of all replicas along the axis.
func (c *communicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	r := c.group.round
	d, err := r.describe(ctx, c)
	if err != nil {
		return err
	}
	t, w := part.Type(), whole.Type()
	if axis < 0 || axis >= len(t.Shape) || t.Bytes()*c.Replicas() != w.Bytes() || t.DType != w.DType {
		return c.giveUp(fmt.Errorf("cpu: all_gather along axis %d: %d parts of %v do not make %v", axis, c.Replicas(), t, w))
	}
	d.what, d.kind, d.number, d.work = "all_gather", "", axis, (*communicator).gather
	d.other = [2]kernels.Buffer{part, whole}
	d.values = d.other[:2]
	return r.finish(ctx, c, r.publish(c))
}

// Broadcast copies the root's value to all replicas.
func (c *communicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	r := c.group.round
	d, err := r.describe(ctx, c)
	if err != nil {
		return err
	}
	if root < 0 || root >= c.Replicas() {
		return c.giveUp(fmt.Errorf("cpu: broadcast from replica %d: there are %d replicas", root, c.Replicas()))
	}
	d.what, d.kind, d.number, d.work = "broadcast", "", root, (*communicator).copyFromRoot
	d.other = [2]kernels.Buffer{value}
	d.values = d.other[:1]
	return r.finish(ctx, c, r.publish(c))
}

// giveUp fails the call on all replicas.
func (c *communicator) giveUp(err error) error {
	c.Abort(err)
	return c.group.round.failure()
}

// Progress does this replica's share of what all replicas have started.
func (c *communicator) Progress() error { return c.group.round.progress(c) }

// Abort makes current and later calls of all replicas return err, for good. The first error stays.
func (c *communicator) Abort(err error) { c.group.round.fail(err) }

// Close ends calls under way.
func (c *communicator) Close() { c.group.round.fail(errConnectionClosed) }

var errConnectionClosed = errors.New("cpu: the communicator is closed")
