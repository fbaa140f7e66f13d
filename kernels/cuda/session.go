//go:build linux

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
)

// session is a program's memory for one replica. A repeated launch is captured, then replayed.
type session struct {
	id         uint64
	executable *executable
	loaded     *loaded
	device     *device
	arena      driver.Address
	bytes      int64
	tickets    int64  // where they begin in the arena
	own        *queue // of launches without one

	inputs, outputs []driver.Address // of the launch
	next            []driver.Address // of the launch being checked
	flag            driver.Address
	graph           driver.Handle // of the captured launch; 0 if none was captured
	repeated        int           // how often the launch was repeated
	args            []uint64
	loops           []int64
	replica         int
	timing          *timing // of the launch that is being put into the stream
	maps            map[*lower.Arg]tensorMap
	called          []called      // calls of libraries, by number; nil if not prepared yet
	lane            driver.Handle // the stream of a small program; 0 is the device's first
	aside           *aside        // for collectives in parallel with kernels; nil if there are none

	met       *group // that the session is prepared for
	combining map[*lower.Step]*combining
	alone     *group // of launches that meet others through host memory
	nested    nested // and what they do among the replicas of this process
}

// sessions counts them.
var sessions atomic.Uint64

// NewSession allocates the memory that a replica needs, and loads the program onto its device.
func (e *executable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	d, err := e.backend.device(o.Device)
	if err != nil {
		return nil, err
	}
	l, err := e.on(d)
	if err != nil {
		return nil, err
	}
	s := &session{id: sessions.Add(1), executable: e, loaded: l, device: d, bytes: e.plan.ArenaBytes, replica: o.Replica, loops: make([]int64, e.plan.Loops)}
	s.tickets = (s.bytes + 255) &^ 255
	if e.plan.Tickets > 0 {
		s.bytes = s.tickets + 4*int64(e.plan.Tickets)
	}
	if s.bytes > 0 {
		if err = s.takeArena(); err != nil {
			e.release()
			return nil, err
		}
	}
	d.dead.Watch(s)
	return s, nil
}

// takeArena allocates the session's memory. Its tickets are initially 0.
func (s *session) takeArena() error {
	d, e := s.device, s.executable
	var err error
	if s.arena, err = d.alloc(s.bytes, e.arenaName()); err != nil || e.plan.Tickets == 0 {
		return err
	}
	err = d.enqueue(func() error {
		return d.Err(d.API.Fill(s.arena+driver.Address(s.tickets), 0, 4*int64(e.plan.Tickets), d.Stream), "cuMemsetD8Async")
	})
	if err != nil {
		d.free(s.arena, s.bytes)
	}
	return err
}

// Close releases the memory when the launches so far are over.
func (s *session) Close() {
	unreachable.Forget(s)
	d := s.device
	s.leave()
	if s.graph != 0 {
		d.enqueue(func() error { return d.Err(d.API.DestroyExecutable(s.graph), "cuGraphExecDestroy") })
		s.graph = 0
	}
	s.closeCalls()
	if s.arena != 0 {
		d.free(s.arena, s.bytes)
	}
	s.aside.close(d)
	if s.own != nil {
		s.own.Close()
	}
	s.executable.release()
}

// leave releases what the session has in the group that it was prepared for.
func (s *session) leave() {
	if s.met != nil {
		s.met.forget(s)
		s.met = nil
	}
}

// Launch puts the program's kernels into the device's stream.
func (s *session) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	defer runtime.KeepAlive(l.Inputs) // the garbage collector releases what it finds
	defer runtime.KeepAlive(l.Outputs)
	defer runtime.KeepAlive(s)
	q, ok := l.Queue.(*queue)
	if l.Queue == nil {
		if s.own == nil {
			own, err := s.device.newQueue(s.executable.backend)
			if err != nil {
				return kernels.Completed(err)
			}
			s.own = own
		}
		q, ok = s.own, true
		q.reset()
	}
	var err error
	switch {
	case !ok || q.device != s.device:
		err = fmt.Errorf("cuda: program %q runs on %v, the queue is of %v", s.executable.program.Name, s.device.name, l.Queue.Device())
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = s.bind(l.Inputs, l.Outputs)
	}
	if err != nil {
		if ok {
			q.fail(err)
		}
		return s.end(l, kernels.Completed(err))
	}
	s.timing = timingOf(ctx)
	if s.executable.plan.Collects > 0 {
		return s.end(l, q.join(ctx, s, l.Communicator))
	}
	return s.end(l, q.launch(s))
}

// end tells the other replicas if the launch has already failed.
func (s *session) end(l kernels.Launch, e kernels.Event) kernels.Event {
	if l.Communicator != nil && e.Done() {
		if err := e.Wait(context.Background()); err != nil {
			l.Communicator.Abort(err)
		}
	}
	return e
}

// bind looks up the buffers of a launch. If they are the same as before, it counts the repetition.
func (s *session) bind(inputs, outputs []kernels.Buffer) error {
	p := s.executable.program
	if len(inputs) != len(p.Inputs) || len(outputs) != len(p.Outputs) {
		return fmt.Errorf("cuda: program %q: received %d inputs and %d outputs, expected %d and %d", p.Name, len(inputs), len(outputs), len(p.Inputs), len(p.Outputs))
	}
	s.next = s.next[:0]
	for i, b := range inputs {
		a, err := s.address(b, p.Type(p.Inputs[i].Value), "input", i)
		if err != nil {
			return err
		}
		s.next = append(s.next, a)
	}
	for i, out := range p.Outputs {
		if outputs[i] == nil && out.Alias >= 0 {
			s.next = append(s.next, s.next[out.Alias])
			continue
		}
		a, err := s.address(outputs[i], p.Type(out.Value), "output", i)
		if err != nil {
			return err
		}
		for j, in := range s.next[:len(inputs)] {
			if a == in && j != out.Alias && p.Type(out.Value).Bytes() > 0 {
				return fmt.Errorf("cuda: program %q: output %d is given the buffer of input %d, which it does not replace", p.Name, i, j)
			}
		}
		s.next = append(s.next, a)
	}
	n := len(inputs)
	if slices.Equal(s.next[:n], s.inputs) && slices.Equal(s.next[n:], s.outputs) {
		s.repeated++
		return nil
	}
	s.inputs = append(s.inputs[:0], s.next[:n]...)
	s.outputs = append(s.outputs[:0], s.next[n:]...)
	s.repeated = 0
	return nil
}

func (s *session) address(b kernels.Buffer, t ir.Type, what string, i int) (driver.Address, error) {
	own, ok := b.(*buffer)
	name := s.executable.program.Name
	switch {
	case b == nil:
		return 0, fmt.Errorf("cuda: program %q: %s %d is nil", name, what, i)
	case !ok || own.device != s.device:
		return 0, fmt.Errorf("cuda: program %q: %s %d lies on %v, the program runs on %v", name, what, i, b.Device(), s.device.name)
	case own.freed:
		return 0, fmt.Errorf("cuda: program %q: %s %d was freed", name, what, i)
	case !own.typ.Equal(t):
		return 0, fmt.Errorf("cuda: program %q: %s %d has type %v, expected %v", name, what, i, own.typ, t)
	}
	return own.address, nil
}

// captureAfter is how many repetitions of a launch come before it is captured.
const captureAfter = 2

// run puts the kernels, or the graph of them, into the stream. The caller holds the order and has the context.
func (s *session) run(flag driver.Address) error {
	d := s.device
	if s.repeated == 0 || s.flag != flag {
		s.repeated = 0
		s.flag = flag
		if s.graph != 0 {
			g := s.graph
			s.graph = 0
			if err := d.Err(d.API.DestroyExecutable(g), "cuGraphExecDestroy"); err != nil {
				return err
			}
		}
	}
	if t := s.timing; t != nil {
		err := errors.Join(s.steps(s.executable.plan.Steps), t.end(s))
		s.timing = nil
		return err
	}
	if s.graph == 0 && s.repeated >= captureAfter && !d.blocking && s.executable.plan.Fixed && s.executable.plan.Launches > 0 {
		if err := s.capture(); err != nil {
			return err
		}
	}
	if s.graph != 0 {
		return s.executable.during(d.Err(d.API.LaunchGraph(s.graph, d.Stream), "cuGraphLaunch"))
	}
	return s.steps(s.executable.plan.Steps)
}

// capture makes a graph of the launch. If a library cannot take part, the graph is made without it.
func (s *session) capture() error {
	refuse := s.calls()
	err := s.captured()
	if err == nil || len(refuse) == 0 {
		return err
	}
	for _, library := range refuse {
		library(s.device, err)
	}
	return s.captured()
}

func (s *session) captured() error {
	d := s.device
	if err := d.Err(d.API.BeginCapture(d.Stream), "cuStreamBeginCapture_v2"); err != nil {
		return err
	}
	failed := s.steps(s.executable.plan.Steps)
	g, r := d.API.EndCapture(d.Stream) // also after a failure: the stream must come out of the capture
	failed = errors.Join(failed, d.Err(r, "cuStreamEndCapture"))
	if failed == nil {
		s.graph, r = d.API.Instantiate(g)
		failed = d.Err(r, "cuGraphInstantiateWithFlags")
	}
	if g != 0 {
		failed = errors.Join(failed, d.Err(d.API.DestroyGraph(g), "cuGraphDestroy"))
	}
	return failed
}

// steps launches kernels in order.
func (s *session) steps(steps []lower.Step) error {
	for i := range steps {
		step := &steps[i]
		switch step.Kind {
		case lower.Launch:
			if err := s.kernel(step); err != nil {
				return err
			}
		case lower.Loop:
			for n := range step.Length {
				if step.Reverse {
					n = step.Length - 1 - n
				}
				s.loops[step.Loop] = int64(n)
				if err := s.steps(step.Body); err != nil {
					return err
				}
			}
		case lower.While:
			if err := s.while(step); err != nil {
				return err
			}
		case lower.Multiply:
			if err := s.multiply(step); err != nil {
				return err
			}
		}
	}
	return nil
}

// while runs a loop whose condition is on the device: the host waits for it in each round.
func (s *session) while(step *lower.Step) error {
	d := s.device
	h, err := d.takeBlock(1)
	if err != nil {
		return err
	}
	defer d.keepBlock(h)
	for {
		if err := s.steps(step.Head); err != nil {
			return err
		}
		if err := d.Err(d.API.CopyToHost(h.memory[:1], s.place(step.Predicate), d.Stream), "cuMemcpyDtoHAsync_v2"); err != nil {
			return err
		}
		if err := d.Err(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize"); err != nil {
			return err
		}
		if h.memory[0] == 0 {
			return nil
		}
		if err := s.steps(step.Body); err != nil {
			return err
		}
	}
}

func (s *session) kernel(step *lower.Step) (failed error) {
	s.args = s.args[:0]
	maps := 0
	for i := range step.Args {
		a := &step.Args[i]
		switch a.Kind {
		case lower.Address:
			s.args = append(s.args, uint64(s.place(a.Place)))
		case lower.Flag:
			s.args = append(s.args, uint64(s.flag))
		case lower.Number:
			s.args = append(s.args, uint64(s.executable.number))
		case lower.Replica:
			s.args = append(s.args, uint64(s.replica))
		case lower.TensorMap:
			m, err := s.tensorMap(step, a)
			if err != nil {
				return err
			}
			s.args = append(s.args, m[:]...)
			maps++
		}
	}
	c := driver.Config{Grid: [3]uint32{uint32(step.Grid[0]), uint32(step.Grid[1]), uint32(step.Grid[2])}, Block: uint32(step.Block), Shared: uint32(step.Shared), Maps: maps, Stream: s.stream()}
	if t := s.timing; t != nil {
		if err := t.start(s.device, step, c.Stream); err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, t.stop(s.device, c.Stream)) }()
	}
	if r := s.device.API.Launch(s.loaded.functions[step.Kernel], c, s.args); r != driver.Success {
		return s.device.orLost(driver.Check(s.device.API, r, "cuLaunchKernel", "%s: %v: grid %v, %d threads", step.Scope, step.Op, step.Grid, step.Block))
	}
	if s.device.blocking && s.executable.plan.Collects == 0 { // replicas wait for each other
		r := s.device.API.SynchronizeStream(c.Stream)
		return s.device.orLost(driver.Check(s.device.API, r, "cuStreamSynchronize", "%s: %v: grid %v, %d threads", step.Scope, step.Op, step.Grid, step.Block))
	}
	return nil
}

// place is the address of a value in the current iteration of the loops.
func (s *session) place(p lower.Place) driver.Address {
	var a driver.Address
	switch p.Space {
	case lower.Input:
		a = s.inputs[p.Index]
	case lower.Output:
		a = s.outputs[p.Index]
	case lower.Arena:
		a = s.arena
	case lower.Constants:
		a = s.loaded.constants
	case lower.Tickets:
		a = s.arena + driver.Address(s.tickets)
	}
	a += driver.Address(p.Offset)
	for _, stride := range p.Strides {
		a += driver.Address(stride.Bytes * s.loops[stride.Loop])
	}
	return a
}

// allOnes is the initial content of a flag; it stays if a collective is aborted.
const allOnes = 0xffffffff

// decode reads a failure flag; nil if it is not set.
func (b *backend) decode(flag []byte) error {
	if binary.LittleEndian.Uint32(flag) == 0 {
		return nil
	}
	if binary.LittleEndian.Uint32(flag) == allOnes {
		return errAborted
	}
	number, check := int64(binary.LittleEndian.Uint32(flag[4:])), int(binary.LittleEndian.Uint32(flag[8:]))
	b.mu.Lock()
	e := b.numbers[number]
	b.mu.Unlock()
	if e == nil || check >= len(e.checks) {
		return errors.New("cuda: an earlier launch of this queue failed, or one of another process, which knows more")
	}
	return e.checks[check].Error(int64(binary.LittleEndian.Uint64(flag[16:])))
}
