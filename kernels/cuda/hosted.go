//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Communicators of other packages, such as those that connect processes, work on host memory. A launch that meets
// through one runs on a goroutine: at each collective it waits for the device and lets the communicator read and write
// the values.

// hosted starts a launch whose replica meets the others through host memory.
func (q *queue) hosted(ctx context.Context, s *session, c kernels.Communicator) kernels.Event {
	if s.alone == nil {
		s.alone = &group{backend: s.executable.backend, devices: []*device{s.device}, parts: make([]part, 1)}
		s.alone.changed.L = &s.alone.mu
	}
	g := s.alone
	s.leave()
	var err error
	if p, ok := c.(kernels.Preparer); ok {
		err = p.Prepare(s)
	}
	var e *launched
	if err == nil {
		e, err = q.event()
	}
	if err != nil {
		q.fail(err)
		c.Abort(err)
		return kernels.Completed(err)
	}
	e.mu.Lock()
	e.group = g
	e.mu.Unlock()
	s.device.await()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = nil // only the communicator's error counts
	p := &g.parts[0]
	p.session, p.queue, p.event = s, q, e
	p.cursor.reset(s.executable.plan.Steps)
	s.flag, s.repeated = q.flag, 0
	e.waiting, e.outcome = true, nil
	g.came = 1
	s.device.meeting.Store(g)
	go func() {
		err := s.throughHost(ctx, p, c)
		if t := s.timing; t != nil { // it failed
			s.device.order(func() error { t.drop(s.device); return nil })
		}
		if err != nil {
			c.Abort(err)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.leave(err)
	}()
	return e
}

// throughHost does the work of a launch.
func (s *session) throughHost(ctx context.Context, p *part, c kernels.Communicator) error {
	d := s.device
	for {
		var step *lower.Step
		err := d.order(func() (err error) {
			if step, err = p.cursor.next(s); err == nil && step == nil {
				err = p.finish()
			}
			return err
		})
		if err != nil || step == nil {
			if err == nil {
				err = d.order(p.report)
			}
			return err
		}
		if err := s.failed(); err != nil {
			return err
		}
		if err := s.meet(ctx, step, c); err != nil {
			return fmt.Errorf("%s: %v: %w", step.Scope, step.Op, err)
		}
	}
}

// order runs f, which puts work into the stream, without waiting for a meeting, because it belongs to the meeting that
// the device takes part in.
func (d *device) order(f func() error) error {
	d.Order.Lock()
	defer d.Order.Unlock()
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	return f()
}

// failed waits for the device and reads the failure flag.
func (s *session) failed() error {
	flag := shown{device: s.device, typ: ir.Type{DType: ir.Uint8, Shape: ir.Shape{lower.FlagBytes}}, address: s.flag}
	var data [lower.FlagBytes]byte
	if err := flag.Read(data[:]); err != nil {
		return err
	}
	return s.executable.backend.decode(data[:])
}

// meet does one collective.
func (s *session) meet(ctx context.Context, step *lower.Step, c kernels.Communicator) error {
	n := len(step.Values) / 2
	at := func(i int) *shown {
		return &shown{device: s.device, typ: step.Values[i].Type, address: s.place(step.Values[i].Place), session: s, step: step}
	}
	if c.Replicas() != step.Attrs.Replicas {
		return fmt.Errorf("cuda: the program was compiled for %d replicas, the communicator has %d", step.Attrs.Replicas, c.Replicas())
	}
	switch step.Op {
	case ir.AllGather:
		return c.AllGather(ctx, at(0), at(1), step.Attrs.Axis)
	case ir.AllReduce, ir.CollectiveBroadcast:
		results := make([]kernels.Buffer, n)
		for k := range results {
			to := at(n + k)
			if err := to.take(at(k)); err != nil {
				return err
			}
			results[k] = to
		}
		if step.Op == ir.CollectiveBroadcast {
			return c.Broadcast(ctx, step.Attrs.Root, results[0])
		}
		return c.AllReduce(ctx, step.Attrs.Kind, results)
	}
	return s.scatter(ctx, at(0), at(1), step.Attrs, c)
}

// scatter combines all of the values on the host and keeps this replica's part.
func (s *session) scatter(ctx context.Context, whole, part *shown, a ir.CollectiveAttrs, c kernels.Communicator) error {
	copied := kernels.NewArray(whole.typ)
	if err := whole.Read(copied.Data); err != nil {
		return err
	}
	if err := c.AllReduce(ctx, a.Kind, []kernels.Buffer{&onHost{shown: *whole, data: copied.Data}}); err != nil {
		return err
	}
	t, out := whole.typ, make([]byte, 0, part.typ.Bytes())
	inner := t.Shape[a.Axis:].Size() * t.DType.Size()
	size := inner / a.Replicas
	for o := range t.Shape[:a.Axis].Size() {
		out = append(out, copied.Data[o*inner+c.Replica()*size:][:size]...)
	}
	return part.Write(out)
}

// shown is a value of a running program, as a communicator sees it.
type shown struct {
	device  *device
	typ     ir.Type
	address driver.Address
	session *session    // paused
	step    *lower.Step // at which it is paused
}

func (b *shown) Type() ir.Type          { return b.typ }
func (b *shown) Device() kernels.Device { return b.device.name }
func (b *shown) Bytes() []byte          { return nil }
func (b *shown) Free()                  {}

func (b *shown) Write(src []byte) error {
	if len(src) == 0 {
		return nil
	}
	d := b.device
	h, err := d.takeBlock(len(src))
	if err != nil {
		return err
	}
	defer d.keepBlock(h)
	copy(h.memory, src)
	return d.order(func() error {
		if err := d.Err(d.API.CopyToDevice(b.address, h.memory[:len(src)], d.Stream), "cuMemcpyHtoDAsync_v2"); err != nil {
			return err
		}
		return d.record(h, d.Stream)
	})
}

func (b *shown) Read(dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	d := b.device
	h, err := d.takeBlock(len(dst))
	if err != nil {
		return err
	}
	err = d.order(func() error {
		if err := d.Err(d.API.CopyToHost(h.memory[:len(dst)], b.address, d.Stream), "cuMemcpyDtoHAsync_v2"); err != nil {
			return err
		}
		return d.record(h, d.Stream)
	})
	if err != nil {
		d.keepBlock(h)
		return err
	}
	return d.arrive(h, dst)
}

func (b *shown) Upload(src []byte) kernels.Event   { return kernels.Completed(b.Write(src)) }
func (b *shown) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }

// Scratch is host memory, because device memory cannot be allocated meanwhile.
func (b *shown) Scratch(t ir.Type) (kernels.Buffer, error) {
	return &onHost{shown: shown{device: b.device, typ: t}, data: kernels.NewArray(t).Data}, nil
}

var _ kernels.Scratcher = (*shown)(nil)

// take copies another value of the program.
func (b *shown) take(from *shown) error {
	n := int64(b.typ.Bytes())
	if n == 0 {
		return nil
	}
	d := b.device
	return d.order(func() error {
		return d.Err(d.API.CopyOnDevice(b.address, from.address, n, d.Stream), "cuMemcpyDtoDAsync_v2")
	})
}

var errShown = errors.New("cuda: a value that a running program shows to a communicator cannot be copied to; read and write it")

func (b *shown) CopyFrom(kernels.Buffer) kernels.Event { return kernels.Completed(errShown) }

// onHost is a copy of a value in host memory.
type onHost struct {
	shown
	data []byte
}

func (b *onHost) Bytes() []byte { return b.data }
func (b *onHost) Write(src []byte) error {
	copy(b.data, src)
	return nil
}
func (b *onHost) Read(dst []byte) error {
	copy(dst, b.data)
	return nil
}
func (b *onHost) Upload(src []byte) kernels.Event   { return kernels.Completed(b.Write(src)) }
func (b *onHost) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }
