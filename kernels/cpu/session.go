package cpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// session is one replica's memory for a program, and the schedule that runs in it.
type session struct {
	name     string
	replica  int
	options  kernels.CompileOptions
	mu       sync.Mutex // one call at a time
	rt       *runtime
	schedule *schedule
	arena    []byte // may be longer than the schedule's
	inputs   []port
	outputs  []port
	written  []*buffer // buffers of this backend that the current call writes
	meets    bool      // other replicas wait for this one
	overlaps bool      // its all-reduces run while it computes
	turns    uint64    // fingerprint of schedules that can run in turns with each other; see schedule.turns
	turn     int       // next step of a run in turns
	closed   bool
	derived  []*derivationRun
	bound    []kernels.Buffer // inputs of the current call, and the values derived from them

	timing   bool         // Profiling is on
	measured *Measurement // gets the times of the steps; may be nil
}

// port is an input or output of the program.
type port struct {
	name  string
	typ   ir.Type
	alias int // the input that the output replaces, or -1
}

var errClosed = errors.New("cpu: the session is closed")

// newSession returns a session with memory of its own.
func newSession(p *ir.Program, s *schedule, rt *runtime, o kernels.CompileOptions, replica int) *session {
	e := planned(p, s, rt, o, replica)
	e.settle(nil)
	return e
}

// planned returns a session that has no memory yet; see settle.
func planned(p *ir.Program, s *schedule, rt *runtime, o kernels.CompileOptions, replica int) *session {
	e := &session{name: p.Name, replica: replica, options: o, rt: rt, schedule: s}
	for _, in := range p.Inputs {
		e.inputs = append(e.inputs, port{in.Name, p.Type(in.Value), -1})
	}
	for _, out := range p.Outputs {
		e.outputs = append(e.outputs, port{out.Name, p.Type(out.Value), out.Alias})
	}
	e.written = make([]*buffer, 0, len(e.outputs))
	e.meets = o.Replicas > 1 && hasCollectives(p)
	e.overlaps = e.meets && o.Overlap
	if !e.meets || e.overlaps {
		e.turns = s.turns()
	}
	return e
}

// settle gives the session memory, that of lent if it is not nil, and computes the program's constants.
func (e *session) settle(lent *kernels.Scratch) {
	if lent != nil {
		sharedBy(lent).admit(e)
	} else {
		e.moveTo(plan.AlignedBytes(e.schedule.bytes))
		e.rt.provide()
	}
	defer flush.EnterZero().Leave()
	e.schedule.prepare()
}

// moveTo makes memory the arena.
func (e *session) moveTo(memory []byte) {
	e.arena = memory
	e.schedule.place(plan.PointerTo(memory))
}

func hasCollectives(p *ir.Program) bool {
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { return n.Communicates() })
}

// Close frees the memory. Later launches fail.
func (e *session) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.measure(nil)
	e.closed = true
	if e.rt.shared != nil {
		e.rt.shared.leave(e)
	}
	e.schedule, e.arena = nil, nil
	e.rt.workers = nil
}

// Launch runs the program at once, on the calling goroutine. See [kernels.Session].
func (e *session) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	q, _ := l.Queue.(*queue)
	if q != nil && q.err != nil {
		if l.Communicator != nil {
			l.Communicator.Abort(q.err)
		}
		return kernels.Completed(q.err)
	}
	err := e.run(ctx, l.Inputs, l.Outputs, l.Communicator)
	if err != nil && q != nil {
		q.err = err
	}
	return kernels.Completed(err)
}

func (e *session) run(ctx context.Context, inputs, outputs []kernels.Buffer, comm kernels.Communicator) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	completed := false
	if e.meets && comm != nil {
		defer func() {
			switch {
			case err != nil:
				comm.Abort(err)
			case !completed: // a panic is on its way to the caller; the other replicas must not wait for this one
				comm.Abort(fmt.Errorf("cpu: replica %d panicked", e.replica))
			}
		}()
	}
	if err := e.begin(ctx, inputs, outputs, comm); err != nil {
		return err
	}
	defer e.wrote()
	defer flush.EnterZero().Leave()
	e.rt.pool.Enter()
	defer e.rt.pool.Leave()
	if m := measurementOf(ctx); m != e.measured {
		e.measure(m)
	}
	if rec := tracing.Active(ctx); rec != nil {
		e.traced(rec)
	} else {
		e.schedule.execute(e.rt)
	}
	e.rt.ctx = nil
	completed = true
	return e.rt.err
}

// begin makes the program ready to run. The caller must call wrote afterwards.
func (e *session) begin(ctx context.Context, inputs, outputs []kernels.Buffer, comm kernels.Communicator) error {
	if e.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.connect(comm); err != nil {
		return err
	}
	inputs, err := e.withDerived(ctx, inputs)
	if err != nil {
		return err
	}
	if err := e.bind(inputs, outputs); err != nil {
		return err
	}
	e.writes(inputs, outputs)
	e.rt.ctx, e.rt.err = ctx, nil
	return nil
}

// connect sets the communicator that this run uses.
func (e *session) connect(comm kernels.Communicator) error {
	if !e.meets || e.rt.comm == comm && comm != nil {
		return nil
	}
	if comm == nil {
		return fmt.Errorf("cpu: replica %d of the program %s has collectives with %d replicas and was launched without a communicator", e.replica, e.name, e.options.Replicas)
	}
	if comm.Replica() != e.replica || comm.Replicas() != e.options.Replicas {
		return fmt.Errorf("cpu: replica %d of %d was launched with the communicator of replica %d of %d", e.replica, e.options.Replicas, comm.Replica(), comm.Replicas())
	}
	_, own := comm.(progresser)
	e.rt.comm, e.rt.overlapper, e.rt.outside = comm, nil, !own
	if e.overlaps {
		var ok bool
		if e.rt.overlapper, ok = comm.(kernels.Overlapper); !ok {
			e.rt.comm = nil
			return fmt.Errorf("cpu: the program %s was compiled for communicators whose sums overlap with work, and launched with a %T", e.name, comm)
		}
	}
	return nil
}

// writes marks the buffers that the program writes as changing.
func (e *session) writes(inputs, outputs []kernels.Buffer) {
	for j, b := range outputs {
		if alias := e.outputs[j].alias; b == nil && alias >= 0 {
			b = inputs[alias]
		}
		if own, ok := b.(*buffer); ok {
			own.changing()
			e.written = append(e.written, own)
		}
	}
}

// wrote marks the end of these changes.
func (e *session) wrote() {
	for _, b := range e.written {
		b.changing()
	}
	clear(e.written)
	e.written = e.written[:0]
}

// bind points the schedule's inputs and outputs at the caller's memory.
func (e *session) bind(inputs, outputs []kernels.Buffer) error {
	if len(inputs) != len(e.inputs) || len(outputs) != len(e.outputs) {
		return fmt.Errorf("cpu: the program takes %d inputs and %d outputs, received %d and %d", len(e.inputs)-len(e.derived), len(e.outputs), len(inputs), len(outputs))
	}
	for i, b := range inputs {
		m := e.schedule.inputs[i]
		own, ok := b.(*buffer)
		if ok && own != nil && m.Whose == b && len(own.data) == m.Bytes {
			m.Ptr = plan.PointerTo(own.data) // same buffer as in the last run, so its type has been checked
			continue
		}
		p, err := e.inputs[i].memory("input", i, b)
		if err != nil {
			return err
		}
		m.Ptr = p
		if m.Whose = nil; ok {
			m.Whose = own
		}
	}
	for j, b := range outputs {
		out := &e.outputs[j]
		if b == nil && out.alias >= 0 {
			e.schedule.outputs[j].Ptr = e.schedule.inputs[out.alias].Ptr
			continue
		}
		p, err := out.memory("output", j, b)
		if err != nil {
			return err
		}
		if err := e.checkOverlap(j, p); err != nil {
			return err
		}
		e.schedule.outputs[j].Ptr = p
	}
	return nil
}

// memory checks a buffer and returns its address.
func (p *port) memory(what string, i int, b kernels.Buffer) (unsafe.Pointer, error) {
	if b == nil {
		return nil, fmt.Errorf("cpu: %s %d %q: received no buffer, expected one of %v", what, i, p.name, p.typ)
	}
	if t := b.Type(); !t.Equal(p.typ) {
		return nil, fmt.Errorf("cpu: %s %d %q: received a buffer of %v, expected %v", what, i, p.name, t, p.typ)
	}
	var host []byte
	if own, ok := b.(*buffer); ok {
		host = own.memory()
	} else {
		host = b.Bytes()
	}
	if len(host) != p.typ.Bytes() {
		return nil, fmt.Errorf("cpu: %s %d %q: the buffer on %v has %d bytes of host memory, expected %d; move it to a cpu device and do not use it after Free", what, i, p.name, b.Device(), len(host), p.typ.Bytes())
	}
	return plan.PointerTo(host), nil
}

// checkOverlap rejects an output buffer that is also another output, or an input that the output does not replace.
func (e *session) checkOverlap(j int, p unsafe.Pointer) error {
	if p == nil {
		return nil
	}
	for i, m := range e.schedule.inputs {
		if m.Ptr == p && i != e.outputs[j].alias {
			return fmt.Errorf("cpu: output %d %q and input %d %q are the same buffer, but the output does not replace that input", j, e.outputs[j].name, i, e.inputs[i].name)
		}
	}
	for k, m := range e.schedule.outputs[:j] {
		if m.Ptr == p {
			return fmt.Errorf("cpu: outputs %d %q and %d %q are the same buffer", k, e.outputs[k].name, j, e.outputs[j].name)
		}
	}
	return nil
}
