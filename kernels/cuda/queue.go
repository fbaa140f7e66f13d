//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
)

// queue chains launches on one device by a failure flag in the device's memory: kernels that replace inputs end at once
// while it is set, so that launches after a failed one change nothing even before the host has noticed.
type queue struct {
	backend *backend
	device  *device
	flag    driver.Address

	mu     sync.Mutex
	ring   []*launched
	next   int
	closed bool

	failing sync.Mutex
	err     error // of the host: the driver refused a call

	link atomic.Pointer[link] // through which the last launch met others; nil: none
}

// ringSize is how many launches of a queue have events of their own. After that many later launches, an event has the
// outcome of a later one.
const ringSize = 256

// NewQueue opens a queue.
func (b *backend) NewQueue(d kernels.Device) (kernels.Queue, error) {
	own, err := b.device(d)
	if err != nil {
		return nil, err
	}
	q, err := own.newQueue(b)
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (d *device) newQueue(b *backend) (*queue, error) {
	flag, err := d.alloc(lower.FlagBytes, "the failure flag of a queue")
	if err != nil {
		return nil, err
	}
	q := &queue{backend: b, device: d, flag: flag}
	if q.reset(); q.err != nil {
		return nil, errors.Join(q.err, d.free(flag, lower.FlagBytes))
	}
	d.dead.Watch(q)
	return q, nil
}

// reset clears the failure flag.
func (q *queue) reset() {
	d := q.device
	err := d.enqueue(func() error {
		return d.Err(d.API.Fill(q.flag, 0, lower.FlagBytes, d.Stream), "cuMemsetD8Async")
	})
	q.failing.Lock()
	defer q.failing.Unlock()
	q.err = err
}

func (q *queue) Device() kernels.Device { return q.device.name }

// Inline is false, because the device runs the launches.
func (q *queue) Inline() bool { return false }

// fail records an error of the host.
func (q *queue) fail(err error) {
	q.failing.Lock()
	defer q.failing.Unlock()
	if q.err == nil {
		q.err = err
	}
}

func (q *queue) failure() error {
	q.failing.Lock()
	defer q.failing.Unlock()
	return q.err
}

// launch puts a run of a session into the stream, and a copy of the failure flag after it.
func (q *queue) launch(s *session) kernels.Event {
	if err := q.failure(); err != nil {
		return kernels.Completed(err)
	}
	e, err := q.event()
	if err == nil {
		e.mu.Lock()
		e.of = s.executable
		e.mu.Unlock()
		err = q.start(s, e)
	}
	if err == nil && q.device.blocking { // so that it is not taken for the error of a later call
		e.mu.Lock()
		defer e.mu.Unlock()
		err = e.settle()
	}
	if err != nil {
		q.fail(err)
		return kernels.Completed(err)
	}
	return e
}

func (q *queue) start(s *session, e *launched) error {
	d := q.device
	d.await()
	d.Order.Lock()
	defer d.Order.Unlock()
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	if err := s.run(q.flag); err != nil {
		return err
	}
	if err := d.Err(d.API.CopyToHost(e.block.memory[:lower.FlagBytes], q.flag, d.Stream), "cuMemcpyDtoHAsync_v2"); err != nil {
		return err
	}
	return d.record(e.block, d.Stream)
}

// join brings a run of a session to a meeting of all replicas.
func (q *queue) join(ctx context.Context, s *session, with kernels.Communicator) kernels.Event {
	c, ok := with.(*communicator)
	if err := q.failure(); err != nil {
		return kernels.Completed(err)
	}
	var e *launched
	err := error(nil)
	switch {
	case with == nil:
		err = fmt.Errorf("cuda: program %q has collectives and was launched without a communicator", s.executable.program.Name)
	case !ok:
		return q.hosted(ctx, s, with)
	default:
		if err = c.group.prepare(c.replica, s); err == nil {
			if e, err = q.event(); err != nil {
				err = fmt.Errorf("cuda: replica %d on %v: %w", c.replica, q.device.name, err)
			}
		}
	}
	if err != nil {
		q.fail(err)
		return kernels.Completed(err)
	}
	e.mu.Lock()
	e.of = s.executable
	e.group = c.group
	e.mu.Unlock()
	return c.group.bring(ctx, c.replica, s, q, e)
}

// event returns the event of the next launch: a new one, until the ring is full.
func (q *queue) event() (*launched, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ring) < ringSize {
		b, err := q.device.takeBlock(lower.FlagBytes)
		if err != nil {
			return nil, err
		}
		e := &launched{backend: q.backend, device: q.device, block: b}
		q.ring = append(q.ring, e)
		return e, nil
	}
	e := q.ring[q.next%ringSize]
	q.next++
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.settle(); err != nil { // the host is that far ahead
		return nil, err
	}
	e.known, e.err, e.group = false, nil, nil
	return e, nil
}

// Wait returns when all launches are over, with the first error since the last Wait.
func (q *queue) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := q.device
	d.await()
	q.failing.Lock()
	err := q.err
	q.err = nil
	q.failing.Unlock()
	h, failed := d.takeBlock(lower.FlagBytes)
	if failed != nil {
		return first(err, failed)
	}
	failed = d.enqueue(func() error {
		if err := d.Err(d.API.CopyToHost(h.memory[:lower.FlagBytes], q.flag, d.Stream), "cuMemcpyDtoHAsync_v2"); err != nil {
			return err
		}
		return d.record(h, d.Stream)
	})
	if failed != nil {
		d.keepBlock(h)
		return first(err, failed)
	}
	var flag [lower.FlagBytes]byte
	if failed = d.arrive(h, flag[:]); failed == nil {
		if failed = explain(q.backend.decode(flag[:]), q.link.Load()); failed != nil {
			q.reset()
		}
	}
	return first(err, failed)
}

// explain says why a collective was aborted, if that is the error.
func explain(err error, l *link) error {
	if l != nil && errors.Is(err, errAborted) {
		return l.failure()
	}
	return err
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Close releases the queue.
func (q *queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	unreachable.Forget(q)
	for _, e := range q.ring {
		e.mu.Lock()
		e.settle()
		e.mu.Unlock()
		q.device.keepBlock(e.block)
	}
	q.ring = nil
	q.device.free(q.flag, lower.FlagBytes)
}

// launched is the event of a launch.
type launched struct {
	backend *backend
	device  *device // of the queue, which holds the event, and must not be held by it
	block   *block

	mu    sync.Mutex
	of    *executable
	known bool
	err   error
	group *group // where replicas meet for the launch; nil: it is of a single replica

	waiting bool  // guarded by the group: waits for other replicas
	outcome error // of putting it into the streams; guarded by the group
}

// settle waits and reads the flag; the caller holds mu.
func (e *launched) settle() error {
	if e.known {
		return nil
	}
	if e.group != nil {
		if e.err = e.group.outcome(e); e.err != nil {
			e.known = true
			return nil
		}
		defer func() {
			if e.err != nil {
				e.group.end(e.err)
			}
		}()
	}
	d := e.device
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	if e.block.busy {
		r := d.API.QueryEvent(e.block.event)
		if r == driver.NotReady {
			r = d.API.SynchronizeEvent(e.block.event)
		}
		if e.err = e.of.during(d.Err(r, "cuEventSynchronize")); e.err != nil && e.group != nil {
			e.err = fmt.Errorf("cuda: a replica on %v: %w", d.name, e.err)
		}
	}
	if e.err == nil {
		e.err = e.backend.decode(e.block.memory)
		if e.group != nil {
			e.err = explain(e.err, e.group.link)
		}
	}
	e.known = true
	return nil
}

// Wait returns when the launch is over, with its error.
func (e *launched) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil && !e.Done() {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if g := e.group; g != nil && g.link != nil && !e.known && ctx.Done() != nil { // other processes may never come
		defer context.AfterFunc(ctx, func() { g.end(context.Cause(ctx)) })()
	}
	if err := e.settle(); err != nil {
		return err
	}
	return e.err
}

// Done reports whether Wait would return at once.
func (e *launched) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known {
		return true
	}
	if e.group != nil && e.group.undecided(e) {
		return false
	}
	d := e.device
	if d.Enter() != nil {
		return true
	}
	defer d.Leave()
	return d.API.QueryEvent(e.block.event) != driver.NotReady
}
