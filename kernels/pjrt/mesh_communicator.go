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

// meshGroup is where replicas meet that are meshes: the last one to arrive runs the program on all devices.
type meshGroup struct {
	kind   *meshes
	meshes []*mesh // of this process
	first  int     // number of the first replica of this process
	total  int     // replicas of all processes
	ids    []int   // of the devices of all
	remote *link   // to other processes; nil: none takes part

	mu       sync.Mutex
	meeting  *meshMeeting // that some replicas have arrived at; nil if none has
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

// meshCommunicator belongs to one replica.
type meshCommunicator struct {
	group   *meshGroup
	replica int
}

// NewCommunicators connects meshes of one shape, each a replica: those of this process, or of all hosts that were
// joined. Meshes that themselves span hosts are known to each of these, and each connects them.
func (s *meshes) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	if len(o.Devices) == 0 {
		return nil, errors.New("pjrt: no meshes to connect")
	}
	g := &meshGroup{kind: s, first: o.First, total: o.Total(), programs: map[string]kernels.Executable{}}
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
		if len(g.meshes) > 0 && (m.span == nil) != (g.meshes[0].span == nil) {
			return nil, fmt.Errorf("pjrt: of the meshes %v and %v one spans several processes and the other does not", g.meshes[0].name, d)
		}
		g.meshes, g.ids = append(g.meshes, m), append(g.ids, m.ids...)
	}
	if err := g.connect(ctx, o); err != nil {
		return nil, err
	}
	all := make([]kernels.Communicator, len(o.Devices))
	for i := range all {
		all[i] = &meshCommunicator{g, i}
	}
	return all, nil
}

// connect finds out about the replicas of other processes.
func (g *meshGroup) connect(ctx context.Context, o kernels.CommunicatorOptions) (err error) {
	first := g.meshes[0]
	g.remote = first.span.link()
	switch {
	case g.total == len(g.meshes) && g.first == 0:
		return nil
	case first.span != nil:
		return fmt.Errorf("pjrt: connecting %d meshes that span several processes with %d in all; expected each process to have a part of every mesh", len(g.meshes), g.total)
	}
	if g.ids, err = first.backend.idsAcrossHosts(ctx, o, g.ids); err == nil {
		g.remote = newLink(o)
	}
	return err
}

// bring adds a replica's part to the meeting and returns its error when the run is over. The last one to arrive runs
// it.
func (g *meshGroup) bring(ctx context.Context, p *meshPart) error {
	g.mu.Lock()
	if g.err != nil {
		defer g.mu.Unlock()
		return g.err
	}
	if g.meeting == nil {
		g.meeting = &meshMeeting{parts: make([]*meshPart, len(g.meshes)), over: make(chan struct{}), errs: make([]error, len(g.meshes))}
	}
	m, own := g.meeting, p.session.replica-g.first
	if err := g.fits(m, p); err != nil {
		defer g.mu.Unlock()
		g.fail(err)
		return err
	}
	m.parts[own] = p
	m.came++
	if m.came == len(g.meshes) {
		g.meeting = nil
		g.mu.Unlock() // another process may never come, and whoever says so needs the lock
		copy(m.errs, m.parts[0].session.run(g.ids, g.remote, m.parts))
		close(m.over)
		if err := errors.Join(m.errs...); err != nil && g.remote != nil {
			g.end(err)
		}
		return m.errs[own]
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
	return m.errs[own]
}

// fits checks that a replica comes once, from its mesh, with the same program as the others.
func (g *meshGroup) fits(m *meshMeeting, p *meshPart) error {
	s := p.session
	own := s.replica - g.first
	if s.mesh != g.meshes[own] {
		return fmt.Errorf("pjrt: replica %d of program %q runs on %v, its communicator is on %v", s.replica, s.program.Name, s.mesh.name, g.meshes[own].name)
	}
	for other, q := range m.parts {
		switch {
		case q == nil:
		case other == own:
			return fmt.Errorf("pjrt: replica %d launched program %q before the others launched %q", s.replica, s.program.Name, q.session.program.Name)
		case q.session.meshExecutable != s.meshExecutable && q.session.module.Text != s.module.Text:
			return fmt.Errorf("pjrt: replica %d launched program %q and replica %d program %q, or the same with other shapes; replicas on these devices run one program together: make batches that divide evenly (data's DropRemainder)", s.replica, s.program.Name, g.first+other, q.session.program.Name)
		}
	}
	return nil
}

// fail ends the group: everyone who waits gets the error, and so does everyone who comes later. The caller holds mu.
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

// end is fail for callers who do not hold mu.
func (g *meshGroup) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail(err)
}

// Replica is the number of this replica among those of all processes.
func (c *meshCommunicator) Replica() int  { return c.group.first + c.replica }
func (c *meshCommunicator) Replicas() int { return c.group.total }

// Abort makes current and later calls of all replicas return err.
func (c *meshCommunicator) Abort(err error) {
	if c.group.meshes[0].span == nil { // a mesh that spans processes keeps its link
		c.group.remote.end(err)
	}
	c.group.end(err)
}

// Close ends calls in progress.
func (c *meshCommunicator) Close() {
	g := c.group
	g.end(errors.New("pjrt: the communicator is closed"))
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
	s, err := e.NewSession(kernels.SessionOptions{Device: c.group.meshes[c.replica].name, Replica: c.Replica()})
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
	e, err := g.kind.Compile(p, kernels.CompileOptions{Device: g.meshes[0].name, Replicas: g.total})
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
