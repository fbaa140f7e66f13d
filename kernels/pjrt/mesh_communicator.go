//go:build linux

package pjrt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// meshGroup is where replicas meet that are meshes: the last one to come runs the program on all devices.
type meshGroup struct {
	kind   *meshes
	meshes []*mesh

	mu       sync.Mutex
	meeting  *meshMeeting // that some replicas have come to; nil where none has
	err      error        // after Abort
	programs map[string]kernels.Executable
}

// meshMeeting is one run that replicas come together for.
type meshMeeting struct {
	parts []*meshPart
	came  int
	over  chan struct{}
	errs  []error
}

// meshCommunicator is the end of one replica.
type meshCommunicator struct {
	group   *meshGroup
	replica int
}

// NewCommunicators connects meshes of one shape and of this process, each a replica.
func (s *meshes) NewCommunicators(_ context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	if len(o.Devices) == 0 {
		return nil, errors.New("pjrt: no meshes to connect")
	}
	if o.Total() != len(o.Devices) || o.First != 0 {
		return nil, fmt.Errorf("pjrt: connecting %d meshes of this process with %d in all: %w", len(o.Devices), o.Total(), errors.ErrUnsupported)
	}
	g := &meshGroup{kind: s, programs: map[string]kernels.Executable{}}
	used := map[int]kernels.Device{}
	for _, d := range o.Devices {
		m, err := s.at(d)
		if err != nil {
			return nil, err
		}
		if len(g.meshes) > 0 && !slices.Equal(m.shape, g.meshes[0].shape) {
			return nil, fmt.Errorf("pjrt: the meshes %v and %v have the shapes %v and %v; replicas need meshes of one shape", g.meshes[0].name, d, g.meshes[0].shape, m.shape)
		}
		for _, id := range m.ids {
			if other, taken := used[id]; taken {
				return nil, fmt.Errorf("pjrt: device %d is in %v and in %v; each replica needs devices of its own", id, other, d)
			}
			used[id] = d
		}
		g.meshes = append(g.meshes, m)
	}
	all := make([]kernels.Communicator, len(o.Devices))
	for i := range all {
		all[i] = &meshCommunicator{g, i}
	}
	return all, nil
}

// bring adds a replica's part to the meeting and returns its error when the run is over. The last one to come runs.
func (g *meshGroup) bring(ctx context.Context, p *meshPart) error {
	g.mu.Lock()
	if g.err != nil {
		defer g.mu.Unlock()
		return g.err
	}
	if g.meeting == nil {
		g.meeting = &meshMeeting{parts: make([]*meshPart, len(g.meshes)), over: make(chan struct{}), errs: make([]error, len(g.meshes))}
	}
	m, replica := g.meeting, p.session.replica
	if err := g.fits(m, p); err != nil {
		defer g.mu.Unlock()
		g.fail(err)
		return err
	}
	m.parts[replica] = p
	m.came++
	if m.came == len(g.meshes) {
		g.meeting = nil
		copy(m.errs, m.parts[0].session.run(m.parts))
		close(m.over)
		g.mu.Unlock()
		return m.errs[replica]
	}
	g.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.meeting == m {
			g.fail(context.Cause(ctx))
		}
	})()
	<-m.over
	return m.errs[replica]
}

// fits checks that a replica comes once, from its mesh, with the others' program.
func (g *meshGroup) fits(m *meshMeeting, p *meshPart) error {
	s := p.session
	if s.mesh != g.meshes[s.replica] {
		return fmt.Errorf("pjrt: replica %d of program %q runs on %v, its communicator is on %v", s.replica, s.program.Name, s.mesh.name, g.meshes[s.replica].name)
	}
	for other, q := range m.parts {
		switch {
		case q == nil:
		case other == s.replica:
			return fmt.Errorf("pjrt: replica %d launched program %q before the others launched %q", s.replica, s.program.Name, q.session.program.Name)
		case q.session.meshExecutable != s.meshExecutable && q.session.module.Text != s.module.Text:
			return fmt.Errorf("pjrt: replica %d launched program %q and replica %d program %q, or the same with other shapes; replicas on these devices run one program together: make batches that divide evenly (data's DropRemainder)", s.replica, s.program.Name, other, q.session.program.Name)
		}
	}
	return nil
}

// fail ends the group: who waits gets the error, and so does who comes later. The caller holds mu.
func (g *meshGroup) fail(err error) {
	if g.err == nil {
		g.err = err
	}
	if m := g.meeting; m != nil {
		g.meeting = nil
		for i := range m.errs {
			m.errs[i] = g.err
		}
		close(m.over)
	}
}

func (c *meshCommunicator) Replica() int  { return c.replica }
func (c *meshCommunicator) Replicas() int { return len(c.group.meshes) }

// Abort makes current and later calls of all replicas return err.
func (c *meshCommunicator) Abort(err error) {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	c.group.fail(err)
}

// Close ends calls under way.
func (c *meshCommunicator) Close() {
	c.Abort(errors.New("pjrt: the communicator is closed"))
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.programs {
		e.Close()
	}
	clear(g.programs)
}

// call runs a small program on all replicas.
func (c *meshCommunicator) call(ctx context.Context, name string, op ir.Op, a ir.CollectiveAttrs, inputs, outputs []kernels.Buffer, replaces bool) error {
	a.Replicas = c.Replicas()
	key := fmt.Sprint(name, a)
	for _, b := range inputs {
		key += b.Type().String()
	}
	e, err := c.group.program(key, name, op, a, inputs, replaces)
	if err != nil {
		c.Abort(err)
		return err
	}
	s, err := e.NewSession(kernels.SessionOptions{Device: c.group.meshes[c.replica].name, Replica: c.replica})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Launch(ctx, kernels.Launch{Inputs: inputs, Outputs: outputs, Communicator: c}).Wait(ctx)
}

func (g *meshGroup) program(key, name string, op ir.Op, a ir.CollectiveAttrs, inputs []kernels.Buffer, replaces bool) (kernels.Executable, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.programs[key]; e != nil {
		return e, nil
	}
	p, err := collective(name, op, a, inputs, replaces)
	if err != nil {
		return nil, err
	}
	e, err := g.kind.Compile(p, kernels.CompileOptions{Device: g.meshes[0].name, Replicas: len(g.meshes)})
	if err == nil {
		g.programs[key] = e
	}
	return e, err
}

// AllReduce combines values over the replicas, in place.
func (c *meshCommunicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	if len(values) == 0 {
		return nil
	}
	return c.call(ctx, "all_reduce", ir.AllReduce, ir.CollectiveAttrs{Kind: kind}, values, make([]kernels.Buffer, len(values)), true)
}

// AllGather concatenates the parts of all replicas along the axis.
func (c *meshCommunicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	return c.call(ctx, "all_gather", ir.AllGather, ir.CollectiveAttrs{Axis: axis}, []kernels.Buffer{part}, []kernels.Buffer{whole}, false)
}

// Broadcast copies the root's value to all replicas.
func (c *meshCommunicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	return c.call(ctx, "broadcast", ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: root}, []kernels.Buffer{value}, []kernels.Buffer{nil}, true)
}
