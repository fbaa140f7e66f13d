//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// group is where the replicas of one process meet. Each brings its launch. The last one to arrive puts the work of all
// into the devices' streams, from one collective to the next, so that no stream waits for an event that has not been
// recorded yet. Only the devices wait, for events; the host continues.
type group struct {
	backend *backend
	devices []*device
	order   []*device // by their indices, as all groups lock them
	peers   bool      // all devices reach each other's memory
	reach   [][]bool  // by replica: whose memory its device reads
	link    *link     // NCCL, which connects the values of all processes; nil: kernels of our own
	choice  *choice   // how values meet, as measured; nil: not measured
	packs   int       // in which NCCL combines the values of a call; 0: each on its own
	narrow  ir.DType  // the type in which large sums of float32 travel; Invalid: their own

	arrangement *kernels.Arrangement // of all-reduces by kernels of our own; nil: in one go, or in shares

	mu      sync.Mutex
	changed sync.Cond
	parts   []part // by replica; without a session if it has not come yet
	came    int
	round   int   // counts the meetings
	err     error // permanent
	open    int   // communicators that were not closed

	recordings map[uint64]*recording // by the number of the first replica's session
	moved      int                   // counts how often the areas were reallocated

	steps  []*lower.Step    // current steps of the replicas
	lanes  []driver.Handle  // the streams of the current collective
	flags  []driver.Address // and the addresses of its failure flags
	events []driver.Handle
	areas  []area // by replica

	building sync.Mutex // guards what follows
	small    map[string]*executable
	sessions []map[string]*session // by replica
	old      [][]byte              // host memory that copies may still use
}

// part is what a replica contributes.
type part struct {
	session *session
	queue   *queue
	event   *launched
	cursor  cursor
	stop    func() bool // ends the watching of a context
}

// area is what a replica needs to combine values.
type area struct {
	scratch driver.Address
	bytes   int64
	pinned  []byte // if devices do not reach each other
}

// flagSlot is the room for a failure flag in an area.
const flagSlot = 256

// group makes the group of several devices of this process.
func (b *backend) group(ctx context.Context, o kernels.CommunicatorOptions) (*group, error) {
	g, err := b.empty(o.Devices)
	if err != nil {
		return nil, err
	}
	g.narrow = o.Narrow
	if err := g.introduce(); err != nil {
		return nil, err
	}
	return g, g.chosen(ctx, nil)
}

// chosen is choose, but releases everything if that fails.
func (g *group) chosen(ctx context.Context, exchange func(context.Context, []byte) ([][]byte, error)) error {
	err := g.choose(ctx, exchange)
	if err != nil {
		g.end(err)
		g.release()
	}
	return err
}

// linked makes the group of devices that meet each other, and those of other processes, through NCCL.
func (b *backend) linked(ctx context.Context, o kernels.CommunicatorOptions) (*group, error) {
	g, err := b.empty(o.Devices)
	if err != nil {
		return nil, err
	}
	g.narrow, g.packs = o.Narrow, o.Packs
	if err := g.makeEvents(); err != nil {
		return nil, err
	}
	if g.link, err = b.newLink(ctx, o, g); err != nil {
		g.release()
		return nil, err
	}
	return g, g.chosen(ctx, o.Exchange)
}

// empty makes a group without what its devices need to meet.
func (b *backend) empty(devices []kernels.Device) (*group, error) {
	n := len(devices)
	g := &group{backend: b, peers: true, parts: make([]part, n), open: n, steps: make([]*lower.Step, n), lanes: make([]driver.Handle, n), flags: make([]driver.Address, n), areas: make([]area, n), small: map[string]*executable{}, sessions: make([]map[string]*session, n), recordings: map[uint64]*recording{}}
	g.changed.L = &g.mu
	for i, name := range devices {
		d, err := b.device(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(g.devices, d) {
			return nil, fmt.Errorf("cuda: device %v is named twice; each replica needs a GPU of its own", name)
		}
		g.devices, g.sessions[i] = append(g.devices, d), map[string]*session{}
	}
	g.order = slices.SortedFunc(slices.Values(g.devices), func(a, b *device) int { return a.Index - b.Index })
	return g, nil
}

// bring adds a replica's launch. The last one to arrive does the work of all.
func (g *group) bring(ctx context.Context, replica int, s *session, q *queue, e *launched) kernels.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &g.parts[replica]
	err := g.err
	switch {
	case err != nil:
	case s.device != g.devices[replica]:
		err = fmt.Errorf("cuda: replica %d of program %q runs on %v, its communicator is on %v", replica, s.executable.program.Name, s.device.name, g.devices[replica].name)
	case p.session != nil:
		err = fmt.Errorf("cuda: replica %d launched program %q before the others had launched %q", replica, s.executable.program.Name, p.session.executable.program.Name)
	}
	if err != nil {
		q.fail(err)
		g.fail(err)
		return kernels.Completed(err)
	}
	p.session, p.queue, p.event = s, q, e
	e.waiting, e.outcome = true, nil
	s.device.meeting.Store(g)
	g.came++
	if g.came == len(g.parts) {
		err := g.run()
		if err != nil && g.err == nil {
			g.err = err
		}
		g.leave(err)
		return e
	}
	if ctx.Done() != nil {
		round := g.round
		p.stop = context.AfterFunc(ctx, func() { g.abandon(round, context.Cause(ctx)) })
	}
	return e
}

// leave ends the meeting. The caller holds mu.
func (g *group) leave(err error) {
	g.round++
	g.came = 0
	for i := range g.parts {
		p := &g.parts[i]
		if p.session == nil {
			continue
		}
		if p.stop != nil {
			p.stop()
			p.stop = nil
		}
		p.event.waiting, p.event.outcome = false, err
		if err != nil {
			p.queue.fail(err)
		}
		p.session.device.meeting.Store(nil)
		p.session, p.queue, p.event = nil, nil, nil
	}
	g.changed.Broadcast()
}

// fail ends the group: everyone who waits gets the error, and so does everyone who comes later. The caller holds mu.
func (g *group) fail(err error) {
	if g.err == nil {
		g.err = err
	}
	if g.link != nil && err != errClosed {
		g.link.abort(g.err)
	}
	if g.came > 0 {
		g.leave(g.err)
	}
}

// abandon gives up a meeting, unless it is over.
func (g *group) abandon(round int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round == round {
		g.fail(err)
	}
}

// end is fail for callers who do not hold mu, because the holder may be waiting for NCCL.
func (g *group) end(err error) {
	if g.link != nil {
		g.link.abort(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail(err)
}

// outcome waits until the launch of an event was put into the streams.
func (g *group) outcome(e *launched) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e.waiting {
		g.changed.Wait()
	}
	return e.outcome
}

// undecided reports whether the launch of an event still waits for other replicas.
func (g *group) undecided(e *launched) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return e.waiting
}

// await returns when the launch that the device takes part in was put into its stream, so that later work comes after
// it.
func (d *device) await() {
	g := d.meeting.Load()
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for d.meeting.Load() == g {
		g.changed.Wait()
	}
}

// run puts the work of all replicas into the streams. The caller holds mu.
func (g *group) run() error {
	for _, d := range g.order {
		d.Order.Lock()
	}
	defer g.unlock()
	replica, err := g.work()
	if err == nil {
		if g.link != nil {
			g.link.launched(g.parts)
		}
		return nil
	}
	if g.link != nil { // work that has begun waits for the others
		err = g.link.reason(err)
		g.link.abort(err)
	}
	for i := range g.parts { // the others must not change anything alone
		p, d := &g.parts[i], g.devices[i]
		if d.Enter() == nil {
			d.API.Fill(p.session.flag, 1, 4, d.Stream)
			d.Leave()
		}
	}
	for i, d := range g.devices { // work that has begun reads memory of others, which may be freed next
		if d.Enter() == nil {
			d.synchronize()
			g.parts[i].session.timing.drop(d)
			d.Leave()
		}
	}
	return fmt.Errorf("cuda: replica %d on %v: %w", replica, g.devices[replica].name, err)
}

func (g *group) unlock() {
	for _, d := range g.order {
		d.Order.Unlock()
	}
}

// work returns the replica that failed.
func (g *group) work() (int, error) {
	for i := range g.parts {
		p := &g.parts[i]
		p.session.flag = p.queue.flag
		p.queue.link.Store(g.link)
	}
	var r *recording
	i, err := 0, error(nil)
	if !g.timed() {
		r, i, err = g.recorded()
	}
	switch {
	case err != nil:
	case r != nil && r.graph != 0:
		i, err = g.replay(r)
	default:
		i, err = g.enlist()
	}
	if err != nil {
		return i, err
	}
	for i := range g.parts {
		if err := g.parts[i].finish(); err != nil {
			return i, err
		}
	}
	for i := range g.parts {
		if err := g.parts[i].report(); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// enlist puts the kernels of all replicas into the streams, from one collective to the next.
func (g *group) enlist() (int, error) {
	for i := range g.parts {
		p := &g.parts[i]
		p.cursor.reset(p.session.executable.plan.Steps)
	}
	if g.link != nil {
		g.link.carrier.begin(g)
	}
	for {
		for i := range g.parts {
			var err error
			if err = g.devices[i].Enter(); err == nil {
				g.steps[i], err = g.parts[i].cursor.next(g.parts[i].session)
				g.devices[i].Leave()
			}
			if err != nil {
				return i, err
			}
		}
		if i := g.differs(); i > 0 {
			return i, fmt.Errorf("%s meets the others in %s, replica 0 in %s; all replicas must make the same collectives in the same order", g.parts[i].session.executable.program.Name, describe(g.steps[i]), describe(g.steps[0]))
		}
		if g.steps[0] == nil {
			break
		}
		if i, err := g.collect(); err != nil {
			return i, err
		}
	}
	if g.link != nil {
		return g.link.carrier.end(g)
	}
	return 0, nil
}

// differs returns the first replica whose collective differs from that of replica 0; 0 if all agree.
func (g *group) differs() int {
	a := g.steps[0]
	for i, b := range g.steps[1:] {
		same := (a == nil) == (b == nil)
		if same && a != nil {
			same = a.Op == b.Op && a.Attrs.Kind == b.Attrs.Kind && a.Attrs.Axis == b.Attrs.Axis && a.Attrs.Root == b.Attrs.Root && len(a.Values) == len(b.Values)
			for k := range a.Values {
				same = same && a.Values[k].Type.Equal(b.Values[k].Type)
			}
		}
		if !same {
			return i + 1
		}
	}
	return 0
}

func describe(s *lower.Step) string {
	if s == nil {
		return "its end"
	}
	return fmt.Sprintf("%v of %s with %d values", s.Op, s.Scope, len(s.Values)/2)
}

// finish puts a copy of the failure flag after the launch.
func (p *part) finish() error {
	d := p.session.device
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	if err := d.Err(d.API.CopyToHost(p.event.block.memory[:lower.FlagBytes], p.queue.flag, d.Stream), "cuMemcpyDtoHAsync_v2"); err != nil {
		return err
	}
	return d.record(p.event.block, d.Stream)
}

// barrier makes the stream of every replica's collective wait for everything already in the streams of all.
func (g *group) barrier() (int, error) {
	for i, d := range g.devices {
		if err := d.Enter(); err != nil {
			return i, err
		}
		err := d.Err(d.API.RecordEvent(g.events[i], g.lanes[i]), "cuEventRecord")
		d.Leave()
		if err != nil {
			return i, err
		}
	}
	for i, d := range g.devices {
		if err := d.Enter(); err != nil {
			return i, err
		}
		var err error
		for j, e := range g.events {
			if j != i && err == nil {
				err = d.Err(d.API.WaitEvent(g.lanes[i], e), "cuStreamWaitEvent")
			}
		}
		d.Leave()
		if err != nil {
			return i, err
		}
	}
	return 0, nil
}

// release releases what the group holds.
func (g *group) release() {
	if g.link != nil {
		g.link.close()
	}
	g.forget(nil)
	g.building.Lock()
	defer g.building.Unlock()
	for i, d := range g.devices {
		for _, s := range g.sessions[i] {
			s.Close()
		}
		if a := &g.areas[i]; a.scratch != 0 {
			d.free(a.scratch, a.bytes)
			a.scratch = 0
		}
	}
	for _, d := range g.devices { // copies of one device use the host memory of another
		d.enqueue(func() error {
			d.synchronize()
			return nil
		})
	}
	for i, d := range g.devices {
		d.enqueue(func() error {
			if i < len(g.events) {
				d.API.DestroyEvent(g.events[i])
			}
			if g.areas[i].pinned != nil {
				d.API.HostFree(g.areas[i].pinned)
			}
			if i == 0 {
				for _, h := range g.old {
					d.API.HostFree(h)
				}
			}
			return nil
		})
		g.areas[i].pinned = nil
	}
	g.old, g.events = nil, nil
	for _, e := range g.small {
		e.Close()
	}
	clear(g.small)
}

var errClosed = errors.New("cuda: the communicator is closed")
