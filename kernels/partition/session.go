package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// executable is a program that is spread over a mesh.
type executable struct {
	mesh    *mesh
	program *ir.Program // of one device
	layouts [][]int     // of the inputs
	code    kernels.Executable
}

func (e *executable) Stats() kernels.Stats { return e.code.Stats() }
func (e *executable) Close()               { e.code.Close() }

// NewSession opens a session on each device.
func (e *executable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	m := e.mesh
	if o.Device != m.name || o.Replica != 0 {
		return nil, fmt.Errorf("partition: program %q: a session of replica %d on %v; the program is for %v", e.program.Name, o.Replica, o.Device, m.name)
	}
	s := &session{executable: e, errs: make([]error, len(m.devices))}
	for i, d := range m.devices {
		own, err := e.code.NewSession(kernels.SessionOptions{Device: d, Replica: i})
		if err != nil {
			s.Close()
			return nil, err
		}
		s.sessions = append(s.sessions, own)
		queue, err := m.base.NewQueue(d)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.queues = append(s.queues, queue)
		s.launches = append(s.launches, kernels.Launch{
			Queue: queue, Inputs: make([]kernels.Buffer, len(e.program.Inputs)), Outputs: make([]kernels.Buffer, len(e.program.Outputs)),
		})
		s.runs = append(s.runs, func() {
			defer s.wait.Done()
			s.run(i)
		})
	}
	return s, nil
}

// session runs the program on all devices.
type session struct {
	*executable
	sessions []kernels.Session
	queues   []kernels.Queue
	launches []kernels.Launch
	runs     []func()
	errs     []error
	wait     sync.WaitGroup
	ctx      context.Context // of the launch
	closed   bool            // guarded by the mesh
}

// Close releases the sessions of the devices after the current launch is over. Later launches are errors.
func (s *session) Close() {
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	s.closed = true
	for _, own := range s.sessions {
		own.Close()
	}
	for _, queue := range s.queues {
		queue.Close()
	}
	s.sessions, s.queues = nil, nil
}

// Launch runs the program and waits for it.
func (s *session) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	if err := ctx.Err(); err != nil {
		return kernels.Completed(err)
	}
	m := s.mesh
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed {
		return kernels.Completed(fmt.Errorf("partition: program %q: the session is closed", s.program.Name))
	}
	if err := s.bind(l); err != nil {
		return kernels.Completed(err)
	}
	ends, err := m.connected(ctx)
	if err != nil {
		return kernels.Completed(err)
	}
	for i, end := range ends {
		s.launches[i].Communicator = end
	}
	s.ctx = ctx
	if s.queues[0].Inline() {
		s.wait.Add(len(s.runs))
		for _, run := range s.runs[1:] {
			go run()
		}
		s.runs[0]()
		s.wait.Wait()
	} else {
		s.enqueue()
	}
	return kernels.Completed(s.outcome())
}

// errOther is the error of devices that fail because another one has failed.
var errOther = errors.New("another device failed")

// run runs one device and waits for it. A failure ends the waiting of the others.
func (s *session) run(i int) {
	s.errs[i] = s.sessions[i].Launch(s.ctx, s.launches[i]).Wait(s.ctx)
	if s.errs[i] != nil && s.launches[i].Communicator != nil {
		s.launches[i].Communicator.Abort(fmt.Errorf("%w: %w", errOther, s.errs[i]))
	}
}

// enqueue launches on devices that run by themselves, and waits.
func (s *session) enqueue() {
	events := make([]kernels.Event, len(s.sessions))
	for i, own := range s.sessions {
		events[i] = own.Launch(s.ctx, s.launches[i])
	}
	for i, event := range events {
		s.errs[i] = event.Wait(s.ctx)
	}
}

// outcome is the error of the device that failed first, rather than of those that waited for it.
func (s *session) outcome() error {
	var first error
	for _, err := range s.errs {
		if err != nil && (first == nil || errors.Is(first, errOther)) {
			first = err
		}
	}
	if first != nil {
		for _, queue := range s.queues {
			_ = queue.Wait(context.Background()) // the same error
		}
		s.mesh.disconnect()
	}
	return first
}

// bind checks the buffers of a launch and places them. The output that replaces an input is that input.
func (s *session) bind(l kernels.Launch) error {
	p := s.program
	if len(l.Inputs) != len(p.Inputs) || len(l.Outputs) != len(p.Outputs) {
		return fmt.Errorf("partition: program %q: received %d inputs and %d outputs, expected %d and %d", p.Name, len(l.Inputs), len(l.Outputs), len(p.Inputs), len(p.Outputs))
	}
	if err := checkOverlap(p, l); err != nil {
		return err
	}
	place := func(b kernels.Buffer, v ir.Value, at layout, what string, i int) ([]kernels.Buffer, error) {
		own, ok := b.(*buffer)
		if !ok || own.mesh != s.mesh || !own.typ.Equal(p.Type(v)) {
			return nil, fmt.Errorf("partition: program %q: %s %d is no buffer %v on %v", p.Name, what, i, p.Type(v), s.mesh.name)
		}
		return own.placed(at)
	}
	for i, b := range l.Inputs {
		parts, err := place(b, p.Inputs[i].Value, s.layouts[i], "input", i)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Inputs[i].Name, err)
		}
		if j := slices.Index(l.Inputs[:i], b); j >= 0 && !slices.Equal(s.layouts[i], s.layouts[j]) {
			return fmt.Errorf("partition: program %q: one buffer is input %d and %d, whose layouts differ", p.Name, j, i)
		}
		for device, part := range parts {
			s.launches[device].Inputs[i] = part
		}
	}
	for i, b := range l.Outputs {
		out := p.Outputs[i]
		if b == nil && out.Alias >= 0 {
			for device := range s.launches {
				s.launches[device].Outputs[i] = nil
			}
			continue
		}
		at := whole(len(p.Type(out.Value).Shape))
		if out.Alias >= 0 {
			at = s.layouts[out.Alias]
		}
		parts, err := place(b, out.Value, at, "output", i)
		if err != nil {
			return fmt.Errorf("%s: %w", out.Name, err)
		}
		for device, part := range parts {
			s.launches[device].Outputs[i] = part
		}
	}
	return nil
}

// checkOverlap refuses an output buffer that is also another output, or an input that the output does not replace: it
// might have to be divided in two ways, and an input would change while the program runs.
func checkOverlap(p *ir.Program, l kernels.Launch) error {
	for j, b := range l.Outputs {
		if b == nil {
			continue
		}
		name := p.Outputs[j].Name
		for i, in := range l.Inputs {
			if in == b && i != p.Outputs[j].Alias {
				return fmt.Errorf("partition: program %q: output %d %q and input %d %q are the same buffer, but the output does not replace that input", p.Name, j, name, i, p.Inputs[i].Name)
			}
		}
		if k := slices.Index(l.Outputs[:j], b); k >= 0 {
			return fmt.Errorf("partition: program %q: outputs %d %q and %d %q are the same buffer", p.Name, k, p.Outputs[k].Name, j, name)
		}
	}
	return nil
}
