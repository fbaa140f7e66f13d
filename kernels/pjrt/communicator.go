//go:build linux

package pjrt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// group is where the replicas of a strategy meet: the plugin runs a program on all devices at once, in one call, which
// the last replica to arrive makes. The devices combine values inside the program. If replicas of other processes take
// part, the plugins of all processes meet.
type group struct {
	backend *Backend
	devices []kernels.Device // of this process
	place   *placement
	first   int   // number of the first replica of this process
	remote  *link // to other processes; nil: there are none

	mu      sync.Mutex
	meeting *meeting // that some replicas have arrived at; nil if none has
	err     error    // after Abort

	programs map[string]*executable // programs of calls outside of programs
}

// meeting is one run that replicas come together for.
type meeting struct {
	parts []*part
	came  int
	over  chan struct{} // closed when the run has been handed to the plugin, or given up
	err   error
	stop  []func() bool // ends the watching of contexts
}

// communicator belongs to one replica.
type communicator struct {
	group   *group
	replica int
}

// NewCommunicators connects replicas: those of this process, or of the hosts that were joined.
func (b *Backend) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	if len(o.Devices) == 0 {
		return nil, errors.New("pjrt: no devices to connect")
	}
	seen := map[kernels.Device]bool{}
	for _, d := range o.Devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
		if seen[d] {
			return nil, fmt.Errorf("pjrt: device %v is named twice; each replica needs a device of its own", d)
		}
		seen[d] = true
	}
	place, err := b.placementOf(o.Devices)
	if err != nil {
		return nil, err
	}
	g := &group{backend: b, devices: o.Devices, place: place, first: o.First, programs: map[string]*executable{}}
	if o.Total() != len(o.Devices) || o.First != 0 {
		if g.place, err = b.acrossHosts(ctx, o, place); err != nil {
			return nil, err
		}
		g.remote = newLink(o)
	}
	all := make([]kernels.Communicator, len(o.Devices))
	for i := range all {
		all[i] = &communicator{g, i}
	}
	return all, nil
}

// bring adds a replica's part to the meeting. The last one to arrive hands the run to the plugin.
func (g *group) bring(ctx context.Context, p *part) kernels.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		p.drop()
		return kernels.Completed(g.err)
	}
	if g.meeting == nil {
		g.meeting = &meeting{parts: make([]*part, len(g.devices)), over: make(chan struct{})}
	}
	m := g.meeting
	if err := g.fits(m, p); err != nil {
		p.drop()
		g.fail(err)
		return kernels.Completed(err)
	}
	m.parts[p.session.replica-g.first] = p
	m.came++
	p.event.meeting, p.event.group = m, g
	if m.came < len(g.devices) {
		g.expect(m, p)
		m.stop = append(m.stop, context.AfterFunc(ctx, func() { g.abort(m, ctx.Err()) }))
		return p.event
	}
	g.meeting = nil
	for _, stop := range m.stop {
		stop()
	}
	event := p.event
	if g.remote == nil {
		m.err = p.session.run(g.place, m.parts, nil)
	} else {
		g.mu.Unlock() // another process may never come, and whoever says so needs the lock
		m.err = p.session.run(g.place, m.parts, g.remote)
		g.mu.Lock()
	}
	if m.err != nil && g.err == nil {
		g.err = m.err
	}
	for _, p := range m.parts {
		p.over()
	}
	m.parts = nil // they hold what is in buffers that wait for the meeting, which is a cycle
	close(m.over)
	return event
}

// fits checks that a replica comes once, from its device, with the same program as the others.
func (g *group) fits(m *meeting, p *part) error {
	s := p.session
	own := s.replica - g.first
	if s.device != g.devices[own] {
		return fmt.Errorf("pjrt: replica %d of program %q runs on %v, its communicator is on %v", s.replica, s.program.Name, s.device, g.devices[own])
	}
	if m.parts[own] != nil {
		return fmt.Errorf("pjrt: replica %d launched program %q before the others launched %q", s.replica, s.program.Name, m.parts[own].session.program.Name)
	}
	for other, q := range m.parts {
		if q != nil && q.session.executable != s.executable && q.session.module.Text != s.module.Text {
			return fmt.Errorf("pjrt: replica %d launched program %q and replica %d program %q, or the same with other shapes; replicas on these devices run one program together: make batches that divide evenly (data's DropRemainder)", s.replica, s.program.Name, g.first+other, q.session.program.Name)
		}
	}
	return nil
}

// expect makes everyone who touches the part's outputs, or its queue, wait for the meeting.
func (g *group) expect(m *meeting, p *part) {
	for _, b := range p.outputs {
		b.mu.Lock()
		b.meeting = m
		b.mu.Unlock()
	}
	p.queue.mu.Lock()
	p.queue.meeting = m
	p.queue.mu.Unlock()
}

// abort gives up a meeting, unless it is over.
func (g *group) abort(m *meeting, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.meeting == m {
		g.fail(err)
	}
}

// fail ends the group: everyone who waits gets the error, and so does everyone who comes later. The caller holds mu.
func (g *group) fail(err error) {
	if g.err == nil {
		g.err = err
	}
	m := g.meeting
	if m == nil {
		return
	}
	g.meeting = nil
	m.err = g.err
	close(m.over)
	for _, p := range m.parts {
		if p != nil {
			p.drop()
		}
	}
	m.parts = nil
}

// end is fail for callers who do not hold mu.
func (g *group) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail(err)
}

// Replica is the number of this replica among those of all processes.
func (c *communicator) Replica() int  { return c.group.first + c.replica }
func (c *communicator) Replicas() int { return len(c.group.place.ids) }

// Abort makes current and later calls of all replicas of this process return err.
func (c *communicator) Abort(err error) {
	c.group.remote.end(err)
	c.group.end(err)
}

// Close ends calls in progress.
func (c *communicator) Close() {
	c.group.end(errors.New("pjrt: the communicator is closed"))
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	for _, e := range c.group.programs {
		e.Close()
	}
	clear(c.group.programs)
}

// call runs a small program on all replicas.
func (c *communicator) call(ctx context.Context, name string, op ir.Op, a ir.CollectiveAttrs, inputs, outputs []kernels.Buffer, replaces bool) error {
	a.Replicas = c.Replicas()
	key := fmt.Sprint(name, a)
	for _, b := range inputs {
		key += b.Type().String()
	}
	e, err := c.group.program(key, func() (*ir.Program, error) { return collective(name, op, a, inputs, replaces) })
	if err != nil {
		c.Abort(err)
		return err
	}
	s, err := e.NewSession(kernels.SessionOptions{Device: c.group.devices[c.replica], Replica: c.Replica()})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Launch(ctx, kernels.Launch{Inputs: inputs, Outputs: outputs, Communicator: c}).Wait(ctx)
}

func (g *group) program(key string, build func() (*ir.Program, error)) (*executable, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.programs[key]; e != nil {
		return e, nil
	}
	p, err := build()
	if err != nil {
		return nil, err
	}
	e, err := g.backend.Compile(p, kernels.CompileOptions{Device: g.devices[0], Replicas: len(g.place.ids)})
	if err != nil {
		return nil, err
	}
	g.programs[key] = e.(*executable)
	return e.(*executable), nil
}

// collective is a program of one op.
func collective(name string, op ir.Op, a ir.CollectiveAttrs, inputs []kernels.Buffer, replaces bool) (*ir.Program, error) {
	p := ir.New(name)
	values := make([]ir.Value, len(inputs))
	for i, b := range inputs {
		values[i] = p.AddInput(fmt.Sprint("x", i), b.Type())
	}
	results, err := p.Add(name, op, a, values...)
	if err != nil {
		return nil, err
	}
	for i, v := range results {
		if replaces {
			p.AddAlias(fmt.Sprint("y", i), v, i)
		} else {
			p.AddOutput(fmt.Sprint("y", i), v)
		}
	}
	return p, nil
}

// AllReduce combines values over the replicas, in place.
func (c *communicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	if len(values) == 0 {
		return nil
	}
	return c.call(ctx, "all_reduce", ir.AllReduce, ir.CollectiveAttrs{Kind: kind}, values, make([]kernels.Buffer, len(values)), true)
}

// AllGather concatenates the parts of all replicas along the axis.
func (c *communicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	return c.call(ctx, "all_gather", ir.AllGather, ir.CollectiveAttrs{Axis: axis}, []kernels.Buffer{part}, []kernels.Buffer{whole}, false)
}

// Broadcast copies the root's value to all replicas.
func (c *communicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	return c.call(ctx, "broadcast", ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: root}, []kernels.Buffer{value}, []kernels.Buffer{nil}, true)
}
