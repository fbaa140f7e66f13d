package async

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// executable is a program of the backend that computes.
type executable struct {
	kernels.Executable
	backend *Backend
	closed  atomic.Bool
}

// Compile compiles for the backend that computes.
func (b *Backend) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	if err := b.Open(o.Device); err != nil {
		return nil, err
	}
	b.stats.compiled.Add(1)
	o.Device = inside(o.Device)
	e, err := b.inner.Compile(p, o)
	if err != nil {
		return nil, err
	}
	b.stats.executables.Add(1)
	return &executable{Executable: e, backend: b}, nil
}

// Close forgets the program.
func (e *executable) Close() {
	if !e.closed.Swap(true) {
		e.backend.stats.executables.Add(-1)
		e.Executable.Close()
	}
}

// NewSession makes the memory of one replica.
func (e *executable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	dev, err := e.backend.at(o.Device)
	if err != nil {
		return nil, err
	}
	arena := int64(e.Stats().ArenaBytes)
	if err := dev.take(arena, e.backend.options.Memory, "what a program computes on the way"); err != nil {
		return nil, err
	}
	o.Device = inside(o.Device)
	s, err := e.Executable.NewSession(o)
	if err != nil {
		dev.taken.Add(-arena)
		return nil, err
	}
	e.backend.stats.sessions.Add(1)
	return &session{inner: s, backend: e.backend, device: dev, arena: arena}, nil
}

// session captures what it is launched with.
type session struct {
	inner   kernels.Session
	backend *Backend
	device  *device
	last    kernels.Launch
	times   int // that the last launch has been repeated
	step    *captured
	arena   int64 // bytes
}

// captured is a launch with the memory that it works on: buffers are not looked at again.
type captured struct {
	inputs, outputs []kernels.Buffer // of the backend that computes
	users           []*buffer
	communicator    kernels.Communicator
}

// warm is how many launches with the same buffers come before they are captured.
const warm = 2

// Launch gives the device a run of the program, or a replay.
func (s *session) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	q, _ := l.Queue.(*queue)
	s.backend.stats.launches.Add(1)
	if s.step != nil && s.repeats(l) {
		if s.times++; s.times == warm {
			s.backend.stats.captures.Add(1)
		} else if s.times > warm {
			s.backend.stats.replays.Add(1)
		}
	} else {
		step, err := s.capture(l)
		if err != nil {
			return s.device.do(func() error { return fail(q, l, err) })
		}
		s.step, s.times = step, 0
		s.last = kernels.Launch{Queue: l.Queue, Inputs: slices.Clone(l.Inputs), Outputs: slices.Clone(l.Outputs), Communicator: l.Communicator}
	}
	step := s.step
	for _, b := range step.users {
		if b.freed.Load() {
			return s.device.do(func() error { return fail(q, l, errFreed) })
		}
	}
	return s.device.do(func() error {
		if err := q.failure(); err != nil {
			return fail(q, l, err)
		}
		err := s.inner.Launch(ctx, kernels.Launch{Inputs: step.inputs, Outputs: step.outputs, Communicator: step.communicator}).Wait(ctx)
		q.fail(err)
		return err
	})
}

// fail keeps the error of a launch that does not run, and tells the other replicas that this one will not come.
func fail(q *queue, l kernels.Launch, err error) error {
	q.fail(err)
	if l.Communicator != nil {
		l.Communicator.Abort(err)
	}
	return err
}

// repeats reports whether a launch is the one before again.
func (s *session) repeats(l kernels.Launch) bool {
	return l.Queue == s.last.Queue && l.Communicator == s.last.Communicator && slices.Equal(l.Inputs, s.last.Inputs) && slices.Equal(l.Outputs, s.last.Outputs)
}

// capture looks up the memory of a launch.
func (s *session) capture(l kernels.Launch) (*captured, error) {
	c := &captured{}
	memory := func(list []kernels.Buffer) ([]kernels.Buffer, error) {
		out := make([]kernels.Buffer, len(list))
		for i, x := range list {
			if x == nil {
				continue
			}
			b, ok := x.(*buffer)
			if !ok || b.device != s.device {
				return nil, fmt.Errorf("async: a program on %v was launched with a %T on %v", s.device.name, x, x.Device())
			}
			out[i] = b.memory
			c.users = append(c.users, b)
		}
		return out, nil
	}
	var err error
	if c.inputs, err = memory(l.Inputs); err != nil {
		return nil, err
	}
	if c.outputs, err = memory(l.Outputs); err != nil {
		return nil, err
	}
	switch comm := l.Communicator.(type) {
	case nil:
	case *communicator:
		c.communicator = comm.inner
	default:
		c.communicator = s.present(comm)
	}
	return c, nil
}

// Close gives the memory back when the device has done what was launched.
func (s *session) Close() {
	s.backend.stats.sessions.Add(-1)
	s.device.taken.Add(-s.arena)
	s.device.do(func() error { s.inner.Close(); return nil })
}
