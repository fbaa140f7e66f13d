//go:build linux

package pjrt

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// executable is a program as StableHLO, compiled for the devices that it has been run on.
type executable struct {
	backend  *Backend
	client   *capi.Client
	program  *ir.Program
	module   *stablehlo.Module
	number   int32 // of the module, in failure flags
	replicas int
	ahead    int // launches that may be in progress on a device

	mu       sync.Mutex
	compiled map[string]*compiled // by the devices
	sessions int                  // open sessions
	closed   bool                 // by the caller; the code is freed with the last session
}

// compiled is a program for certain devices, one a replica.
type compiled struct {
	executable *capi.Executable
	mu         sync.Mutex
	idle       []*capi.Launch
}

// Compile lowers a program to StableHLO and has the plugin compile it. The plugin's errors name the layer that they
// refer to.
func (b *Backend) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	client, _, err := b.device(o.Device)
	if err != nil {
		return nil, err
	}
	if err := kernels.CheckTypes(o.Device.Kind, p, b.HasType); err != nil {
		return nil, err
	}
	hash := fnv.New32a()
	hash.Write([]byte(p.Hash()))
	number := int32(hash.Sum32() &^ (1 << 31))
	replicas := max(o.Replicas, 1)
	module, err := stablehlo.Lower(p, stablehlo.Options{Replicas: replicas, Platform: b.platform, Number: number, Donate: true})
	if err != nil {
		return nil, err
	}
	e := &executable{backend: b, client: client, program: p, module: module, number: number, replicas: replicas, ahead: ahead(p), compiled: map[string]*compiled{}}
	b.dead.Watch(e)
	if replicas == 1 { // the devices of several replicas are known only when they meet
		place, failed := b.placementOf([]kernels.Device{o.Device})
		if failed != nil {
			return nil, failed
		}
		_, err = e.on(place)
	}
	return e, err
}

// ahead is how many launches of a program may be in progress on a device: 32, or fewer if their inputs and results
// would together take more than 256 MB of the device's memory, but at least 2, so that the device need not wait for the
// host.
func ahead(p *ir.Program) int {
	replaced := map[int]bool{}
	for _, out := range p.Outputs {
		replaced[out.Alias] = true
	}
	bytes := 1
	for i, in := range p.Inputs {
		if !replaced[i] {
			bytes += p.Type(in.Value).Bytes()
		}
	}
	return min(max(256<<20/bytes, 2), 32)
}

// placement holds the plugin's devices that the replicas of a program run on.
type placement struct {
	devices []kernels.Device // of this process
	ids     []int            // of the replicas of all processes
	key     string
}

// placementOf looks the devices' numbers up.
func (b *Backend) placementOf(devices []kernels.Device) (*placement, error) {
	p := &placement{devices: devices}
	for _, d := range devices {
		client, place, err := b.device(d)
		if err != nil {
			return nil, err
		}
		info, err := client.Describe(place)
		if err != nil {
			return nil, err
		}
		p.ids = append(p.ids, info.ID)
	}
	p.key = fmt.Sprint(p.ids)
	return p, nil
}

// on compiles the program for devices, once.
func (e *executable) on(p *placement) (*compiled, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.compiled[p.key]; c != nil {
		return c, nil
	}
	code, err := e.backend.compile(e.client, []byte(e.module.Text), capi.CompileOptions{Replicas: e.replicas, Devices: p.ids, Flags: e.backend.flags})
	if err != nil {
		return nil, fmt.Errorf("pjrt: compiling program %q for %v: %w", e.program.Name, p.devices, err)
	}
	c := &compiled{executable: code}
	e.compiled[p.key] = c
	return c, nil
}

// Stats describes the program.
func (e *executable) Stats() kernels.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := kernels.Stats{Nodes: len(e.program.Nodes), Steps: 1}
	for _, c := range e.compiled {
		if memory, err := c.executable.Memory(); err == nil {
			s.ArenaBytes = memory.Temporary
		}
	}
	return s
}

// Close forgets the program. The plugin's code is freed with the last session.
func (e *executable) Close() {
	unreachable.Forget(e)
	e.Discard()
}

// Discard is Close for a program that nobody can reach.
func (e *executable) Discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.free()
}

// free releases the plugin's code when nobody can run it any more. The caller holds mu.
func (e *executable) free() {
	if !e.closed || e.sessions > 0 {
		return
	}
	for _, c := range e.compiled {
		c.close()
	}
	clear(e.compiled)
}

// launch returns the memory for the arguments of a run.
func (c *compiled) launch(replicas, inputs int) *capi.Launch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		l := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return l
	}
	return c.executable.NewLaunch(replicas, inputs)
}

func (c *compiled) giveBack(l *capi.Launch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, l)
}

func (c *compiled) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = nil
	c.executable.Close()
}

// session is one replica of an executable. The plugin manages the memory for intermediate values.
type session struct {
	*executable
	device  kernels.Device
	place   uintptr
	replica int
	alone   *placement // of a program for one replica
	once    sync.Once

	idle sync.Mutex
	free []*part // of earlier launches
}

// NewSession checks the placement.
func (e *executable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	_, place, err := e.backend.device(o.Device)
	if err != nil {
		return nil, err
	}
	if o.Replica < 0 || o.Replica >= e.replicas {
		return nil, fmt.Errorf("pjrt: program %q: a session of replica %d; the program is for %d", e.program.Name, o.Replica, e.replicas)
	}
	s := &session{executable: e, device: o.Device, place: place, replica: o.Replica}
	if e.replicas == 1 {
		if s.alone, err = e.backend.placementOf([]kernels.Device{o.Device}); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("pjrt: program %q was closed", e.program.Name)
	}
	e.sessions++
	e.backend.dead.Watch(s)
	return s, nil
}

// Close gives the session back, which holds no memory of its own.
func (s *session) Close() {
	unreachable.Forget(s)
	s.Discard()
}

// Discard is Close for a session that nobody can reach.
func (s *session) Discard() {
	s.once.Do(func() {
		e := s.executable
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sessions--
		e.free()
	})
}

// Launch hands a run to the plugin, or brings this replica's part to the meeting with the others.
func (s *session) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	if err := ctx.Err(); err != nil {
		return kernels.Completed(err)
	}
	p, err := s.part(l)
	if err != nil {
		if c, ok := l.Communicator.(*communicator); ok && s.replicas > 1 {
			c.Abort(err)
		}
		return kernels.Completed(err)
	}
	if s.replicas == 1 {
		event := p.event
		err = s.run(s.alone, p.alone[:], nil)
		event.mu.Lock()
		defer event.mu.Unlock()
		event.err, event.known = err, err != nil
		p.over()
		return event
	}
	c, ok := l.Communicator.(*communicator)
	if !ok || c.Replicas() != s.replicas || c.Replica() != s.replica {
		p.drop()
		return kernels.Completed(fmt.Errorf("pjrt: program %q: replica %d of %d has no communicator for that place", s.program.Name, s.replica, s.replicas))
	}
	return c.group.bring(ctx, p)
}

// part checks the buffers and takes hold of the inputs.
func (s *session) part(l kernels.Launch) (*part, error) {
	q, own := l.Queue, false
	if q == nil {
		made, err := s.backend.NewQueue(s.device)
		if err != nil {
			return nil, err
		}
		q, own = made, true
	}
	mine, ok := q.(*queue)
	if !ok || mine.device != s.device {
		return nil, fmt.Errorf("pjrt: program %q runs on %v, the queue is one of %v", s.program.Name, s.device, q.Device())
	}
	p := s.newPart()
	p.queue = mine
	if own {
		p.event = &launched{told: mine.told, own: mine}
		s.backend.dead.Watch(p.event)
	} else {
		p.event = mine.event()
	}
	if err := p.bind(l.Inputs, l.Outputs); err != nil {
		p.drop()
		if !own {
			mine.put(nil, 0, nil, 0, err) // for those who wait only for the queue
		}
		return nil, err
	}
	return p, nil
}

// run hands a run of the replicas of this process to the plugin, and puts its results into their buffers.
func (e *executable) run(at *placement, parts []*part, remote *link) (err error) {
	defer func() {
		if isGivenUp(err) {
			return // the plugin may still use what the run was given
		}
		for _, p := range parts {
			for _, o := range p.objects {
				if failed := o.release(); failed != nil {
					err = errors.Join(err, failed)
				}
			}
			p.objects = p.objects[:0]
		}
	}()
	c, err := e.on(at)
	if err != nil {
		e.failed(parts, err)
		return err
	}
	inputs := len(e.program.Inputs) + 1
	l := c.launch(len(parts), inputs)
	keep := parts[0].keep
	for i, p := range parts {
		for j, o := range p.objects {
			if remote != nil {
				o.remote.Store(remote)
			}
			l.Arguments(i)[j] = uint64(o.handle)
		}
		if i > 0 {
			keep = append(keep, p.keep...)
		}
	}
	slices.Sort(keep)
	err = e.start(l, slices.Compact(keep), remote)
	if err != nil {
		err = fmt.Errorf("pjrt: program %q on %v: %w", e.program.Name, at.devices, err)
		e.failed(parts, err)
		if !isGivenUp(err) {
			c.giveBack(l)
		}
		return err
	}
	defer c.giveBack(l)
	made := func(handle uint64) *object {
		o := newObject(e.client, uintptr(handle))
		if remote != nil {
			o.remote.Store(remote)
		}
		return o
	}
	for i, p := range parts {
		results := l.Results(i)
		var lost error
		for j, b := range p.outputs {
			if failed := b.keep(made(results[j])); failed != nil {
				lost = errors.Join(lost, failed)
			}
		}
		own := made(results[len(p.outputs)])
		p.queue.put(e.module, e.number, own, e.ahead, nil)
		p.event.flag = own
		if lost != nil {
			p.queue.put(e.module, e.number, nil, 0, lost)
			err = errors.Join(err, lost)
		}
	}
	return err
}

// start makes the plugin's call, a second time if there was too little memory at first.
func (e *executable) start(l *capi.Launch, keep []int, remote *link) error {
	if remote != nil {
		return remote.run(l, keep)
	}
	err := l.Run(keep)
	if err == nil {
		return nil
	}
	return e.backend.again(err, func() error { return l.Run(keep) })
}

// failed records in the replicas' queues that the plugin refused a run.
func (e *executable) failed(parts []*part, err error) {
	for _, p := range parts {
		p.queue.put(e.module, e.number, nil, 0, err)
	}
}
