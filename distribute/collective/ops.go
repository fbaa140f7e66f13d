package collective

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gokeras/gokeras/kernels/ir"
)

// MaxGather is the largest number of bytes that AllGather accepts from one worker.
const MaxGather = 1 << 32

// Stats counts what a group has done since Join.
type Stats struct {
	Collectives int64
	Bytes       int64         // of tensors, this worker's
	Sent        int64         // bytes written to sockets, with everything that the protocol needs
	Time        time.Duration // in collectives, waiting for others included
	Waiting     time.Duration // for what others send or publish: on the slowest worker the least
	Received    int64         // bytes read from sockets
	Lost        int64         // workers that groups of this worker lost, one that was lost twice counts twice; those that left do not
	Groups      int64         // groups that formed
}

// Stats returns the counts. It does not wait for a collective in progress.
func (g *Group) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Sent, s.Received = g.transport.sent.Load(), g.transport.received.Load()
	return s
}

// calls are kept for reuse: a collective of every step should leave nothing for the garbage collector.
var calls = sync.Pool{New: func() any { return new(call) }}

func newCall(c call) *call {
	fresh := calls.Get().(*call)
	*fresh = c
	return fresh
}

// run prepares a collective, runs it with body, and explains its failure.
func (g *Group) run(ctx context.Context, c *call, options []CallOption, body func(s *session) error) error {
	for _, o := range options {
		o.apply(c)
	}
	size := 0
	for i, t := range c.tensors {
		if err := t.check(); err != nil {
			return fmt.Errorf("%w (tensor %d)", err, i)
		}
		size += len(t.Data)
	}
	g.opMu.Lock()
	defer g.opMu.Unlock()
	return g.perform(ctx, c, size, body)
}

// perform runs a collective. The caller holds g.opMu.
func (g *Group) perform(ctx context.Context, c *call, size int, body func(s *session) error) error {
	s, err := g.ready(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	s.begin(c)
	defer s.done()
	g.mu.Lock()
	if g.machine.Asked() {
		g.machine.Began(g.now())
		g.update()
	}
	g.mu.Unlock()
	if ctx.Err() != nil {
		g.withdraw(s, bounded(context.Cause(ctx).Error()))
		return s.failure(ctx.Err())
	}
	if err := body(s); err != nil {
		return err
	}
	g.mu.Lock()
	if g.session == s {
		if s.reported {
			g.machine.Done()
		}
		if g.machine.Complete(c.sequence) || s.reported {
			g.update()
		}
	}
	g.stats.Collectives++
	g.stats.Bytes += int64(size)
	g.stats.Time += time.Since(began)
	g.stats.Waiting += s.waited
	s.waited = 0
	g.mu.Unlock()
	return nil
}

// ready returns the session for the next collective. After an OrderError it forms the group again with the same
// members.
func (g *Group) ready(ctx context.Context) (*session, error) {
	g.mu.Lock()
	s, closed := g.session, g.closed
	g.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case s == nil:
		return nil, errors.New("collective: no group was formed; call Regroup")
	case !s.ended():
		return s, nil
	}
	var order *OrderError
	if !errors.As(s.err, &order) {
		return nil, s.err
	}
	n := s.n
	if err := g.form(ctx, n, n, 0); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session, nil
}

// AllReduce replaces the elements of the tensors, in place, by their reduction over all workers. The result has the
// same bits on all workers, on every run and over every transport. Tensors of several types are reduced type by type.
func (g *Group) AllReduce(ctx context.Context, op Reduction, tensors []Tensor, options ...CallOption) error {
	c := newCall(call{kind: allReduce, op: op, tensors: tensors})
	defer calls.Put(c)
	for _, t := range tensors {
		if err := checkReduction(op, t.DType); err != nil {
			return err
		}
	}
	return g.run(ctx, c, options, func(s *session) error {
		if c.wire != ir.Invalid && c.wire != ir.BFloat16 {
			return fmt.Errorf("collective: tensors cannot travel as %v; only as bfloat16", c.wire)
		}
		for first := 0; first < len(tensors); {
			last := first + 1
			for last < len(tensors) && tensors[last].DType == tensors[first].DType {
				last++
			}
			if err := s.allReduce(ctx, c, newVector(tensors[first:last])); err != nil {
				return err
			}
			first = last
		}
		return nil
	})
}

func (s *session) allReduce(ctx context.Context, c *call, v vector) error {
	d := ir.Uint8
	if len(v.parts) > 0 {
		d = v.parts[0].DType
	}
	p := &plan{op: c.op, dtype: d, narrow: c.wire == ir.BFloat16 && d == ir.Float32, rank: s.rank, n: s.n, count: v.size / d.Size()}
	switch {
	case s.n == 1:
		for _, t := range v.parts {
			p.finish(t.Data)
		}
		return nil
	case s.shared != nil:
		return s.sharedAllReduce(ctx, c, p, v)
	}
	return s.streamAllReduce(ctx, c, p, v)
}

// Barrier waits until all workers have called it.
func (g *Group) Barrier(ctx context.Context, options ...CallOption) error {
	c := newCall(call{kind: barrier})
	defer calls.Put(c)
	return g.run(ctx, c, options, func(s *session) error { return s.allReduce(ctx, c, vector{}) })
}

// maxFailure is the largest size in bytes of a text that Fail sends.
const maxFailure = 1000

// bounded cuts a text to the size that is sent.
func bounded(why string) string {
	for len(why) > maxFailure || !utf8.ValidString(why) {
		why = strings.ToValidUTF8(why[:min(len(why), maxFailure)], "")
	}
	return why
}

// Fail tells all other workers that this one cannot continue, and why: the collective that they call ends with a
// *FailedError, which Fail returns too. All workers can continue afterwards, as after an *OrderError.
func (g *Group) Fail(ctx context.Context, why string) error {
	c := newCall(call{kind: failure, name: bounded(why)})
	defer calls.Put(c)
	return g.run(ctx, c, nil, func(s *session) error { return s.allReduce(ctx, c, vector{}) })
}

// Broadcast replaces the elements of the tensors by those of the worker with rank root.
func (g *Group) Broadcast(ctx context.Context, root int, tensors []Tensor, options ...CallOption) error {
	c := newCall(call{kind: broadcast, root: root, tensors: tensors})
	defer calls.Put(c)
	return g.run(ctx, c, options, func(s *session) error {
		if root < 0 || root >= s.n {
			return fmt.Errorf("collective: Broadcast from rank %d; the group has %d workers", root, s.n)
		}
		switch v := newVector(tensors); {
		case s.n == 1:
			return nil
		case s.shared != nil:
			return s.sharedBroadcast(ctx, c, v)
		default:
			err := s.streamBroadcast(ctx, c, v)
			s.lent.wait(s.over)
			return err
		}
	})
}

// AllGather returns the tensors of all workers by rank. They may differ in the length of the first axis; the type and
// the other axes must agree. This worker's tensor in the result shares memory with t; the others have new memory.
func (g *Group) AllGather(ctx context.Context, t Tensor, options ...CallOption) ([]Tensor, error) {
	c := &call{kind: allGather, tensors: []Tensor{t}}
	if t.Shape != nil && len(t.Shape) == 0 {
		return nil, errors.New("collective: AllGather of a scalar; give it one axis")
	}
	var out []Tensor
	err := g.run(ctx, c, options, func(s *session) error {
		var parts [][]byte
		var err error
		switch {
		case s.n == 1:
			parts = [][]byte{t.Data}
		case s.shared != nil:
			parts, err = s.sharedAllGather(ctx, c, t.Data)
		default:
			parts, err = s.streamAllGather(ctx, c, t.Data)
		}
		if err != nil {
			return err
		}
		out = make([]Tensor, len(parts))
		for rank, data := range parts {
			out[rank] = Tensor{DType: t.DType, Data: data}
			if t.Shape != nil {
				if out[rank].Shape, err = gatheredShape(t, data); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// gatheredShape returns the shape of t, with the length of the first axis that follows from the size of data.
func gatheredShape(t Tensor, data []byte) ([]int, error) {
	row := t.DType.Size()
	for _, n := range t.Shape[1:] {
		row *= n
	}
	shape := append([]int(nil), t.Shape...)
	switch {
	case row == 0 && len(data) == 0:
		return shape, nil
	case row == 0 || len(data)%row != 0:
		return nil, fmt.Errorf("collective: AllGather received %d bytes, which are not whole rows of %d", len(data), row)
	}
	shape[0] = len(data) / row
	return shape, nil
}

// Boundary is what all workers agree on between two steps.
type Boundary struct {
	Flags   uint32 // the flags of all workers together
	Pending bool   // workers are waiting to join: call Regroup
}

// StepEnd tells the others that this worker has completed a step, and joins the flags of all workers (for example: a
// signal asks to stop), so that all act on them after the same step. Workers at different steps get an OrderError.
func (g *Group) StepEnd(ctx context.Context, step uint64, flags uint32) (Boundary, error) {
	var bits [33]uint8
	for i := range 32 {
		bits[i] = uint8(flags >> i & 1)
	}
	if len(g.Pending()) > 0 {
		bits[32] = 1
	}
	if err := g.AllReduce(ctx, Max, []Tensor{Of(bits[:])}, Name("end of step"), atStep(step)); err != nil {
		return Boundary{}, err
	}
	b := Boundary{Pending: bits[32] != 0}
	for i := range 32 {
		b.Flags |= uint32(bits[i]) << i
	}
	return b, nil
}

func atStep(step uint64) CallOption { return callOption(func(c *call) { c.step = step }) }
