package kernelstest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// fake is a backend that runs programs with the reference, rounding every result, and can be made to go wrong.
type fake struct {
	spoil func(p *ir.Program, outputs []reference.Value) // changes what a run returns
	naive bool                                           // writes outputs into inputs before all inputs are read
	deaf  bool                                           // does not check buffers

	forgetful bool // its queues continue after a failure

	lacks ir.DType // a type that it says it does not have, and takes all the same
}

func (f *fake) HasType(d ir.DType) bool { return d != f.lacks }

func (f *fake) Kind() string { return "fake" }

func (f *fake) Devices() []kernels.Device { return nil }

func (f *fake) Open(kernels.Device) error { return nil }

type fakeBuffer struct {
	t    ir.Type
	d    kernels.Device
	data []byte
}

func (f *fake) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	p := ir.New("buffer")
	p.AddInput("", t)
	if err := p.Verify(); err != nil {
		return nil, err
	}
	return &fakeBuffer{t, d, make([]byte, t.Bytes())}, nil
}

func (b *fakeBuffer) Type() ir.Type          { return b.t }
func (b *fakeBuffer) Device() kernels.Device { return b.d }
func (b *fakeBuffer) Bytes() []byte          { return b.data }
func (b *fakeBuffer) Free()                  {}

func (b *fakeBuffer) Write(src []byte) error {
	if copy(b.data, src) != len(b.data) || len(src) != len(b.data) {
		return fmt.Errorf("wrong size %d", len(src))
	}
	return nil
}

func (b *fakeBuffer) Read(dst []byte) error {
	if copy(dst, b.data) != len(b.data) || len(dst) != len(b.data) {
		return fmt.Errorf("wrong size %d", len(dst))
	}
	return nil
}

func (b *fakeBuffer) Upload(src []byte) kernels.Event   { return kernels.Completed(b.Write(src)) }
func (b *fakeBuffer) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }
func (b *fakeBuffer) CopyFrom(src kernels.Buffer) kernels.Event {
	return kernels.Completed(b.Write(src.(*fakeBuffer).data))
}

// fakeExecutable is its own session.
type fakeExecutable struct {
	fake *fake
	p    *ir.Program
}

type fakeQueue struct {
	d   kernels.Device
	err error
}

func (q *fakeQueue) Device() kernels.Device { return q.d }
func (q *fakeQueue) Inline() bool           { return true }
func (q *fakeQueue) Close()                 {}
func (q *fakeQueue) Wait(context.Context) error {
	err := q.err
	q.err = nil
	return err
}

func (f *fake) NewQueue(d kernels.Device) (kernels.Queue, error) { return &fakeQueue{d: d}, nil }

func (f *fake) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	return &fakeExecutable{f, p}, p.Verify()
}

func (e *fakeExecutable) NewSession(kernels.SessionOptions) (kernels.Session, error) { return e, nil }

func (e *fakeExecutable) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	q, _ := l.Queue.(*fakeQueue)
	if q != nil && q.err != nil && !e.fake.forgetful {
		return kernels.Completed(q.err)
	}
	together, rank := newGang(1), 0
	if c, ok := l.Communicator.(*fakeCommunicator); ok {
		together, rank = c.gang, c.rank
	}
	err := e.run(ctx, together, rank, l.Inputs, l.Outputs)
	if q != nil && q.err == nil {
		q.err = err
	}
	return kernels.Completed(err)
}

func (e *fakeExecutable) Stats() kernels.Stats { return kernels.Stats{} }
func (e *fakeExecutable) Close()               {}

func (e *fakeExecutable) run(ctx context.Context, together *gang, rank int, inputs, outputs []kernels.Buffer) (err error) {
	if len(together.inputs) > 1 {
		defer func() {
			if err != nil {
				together.abort(err)
			}
		}()
	}
	if !e.fake.deaf {
		if err := e.check(inputs, outputs); err != nil {
			return err
		}
	}
	values := make([]reference.Value, len(inputs))
	for i, b := range inputs {
		var err error
		if values[i], err = reference.FromBytes(b.Type(), b.(*fakeBuffer).data); err != nil {
			return err
		}
	}
	results, err := together.run(ctx, rank, e.p, values)
	if err != nil {
		return err
	}
	if e.fake.spoil != nil {
		e.fake.spoil(e.p, results)
	}
	for i, out := range e.p.Outputs {
		to := outputs[i]
		if to == nil {
			to = inputs[out.Alias]
			if e.fake.naive && i > 0 {
				results[i] = reference.Value{Type: results[i].Type, F: make([]float64, len(results[i].F))}
			}
		}
		if err := to.Write(results[i].Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (e *fakeExecutable) check(inputs, outputs []kernels.Buffer) error {
	if len(inputs) != len(e.p.Inputs) || len(outputs) != len(e.p.Outputs) {
		return errors.New("wrong number of buffers")
	}
	for i, in := range e.p.Inputs {
		if inputs[i] == nil || !inputs[i].Type().Equal(e.p.Type(in.Value)) {
			return fmt.Errorf("input %d has the wrong type", i)
		}
	}
	for i, out := range e.p.Outputs {
		if outputs[i] == nil && out.Alias < 0 || outputs[i] != nil && !outputs[i].Type().Equal(e.p.Type(out.Value)) {
			return fmt.Errorf("output %d has the wrong type", i)
		}
	}
	return nil
}

// gang runs the replicas of a program together, once all have come.
type gang struct {
	mu      sync.Mutex
	inputs  [][]reference.Value
	arrived int
	outputs [][]reference.Value
	err     error
	done    chan struct{} // closed when the present gathering ends
}

func newGang(n int) *gang {
	return &gang{inputs: make([][]reference.Value, n), done: make(chan struct{})}
}

func (g *gang) run(ctx context.Context, rank int, p *ir.Program, inputs []reference.Value) ([]reference.Value, error) {
	g.mu.Lock()
	if g.err != nil {
		defer g.mu.Unlock()
		return nil, g.err
	}
	done := g.done
	g.inputs[rank] = inputs
	if g.arrived++; g.arrived == len(g.inputs) {
		g.outputs, g.err = reference.Interpreter{Round: true}.RunReplicas(p, g.inputs)
		if len(g.inputs) == 1 {
			defer func() { g.err = nil }()
		}
		g.end()
	}
	g.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		g.abort(ctx.Err())
		return nil, ctx.Err()
	}
	if g.err != nil {
		return nil, g.err
	}
	return g.outputs[rank], nil
}

func (g *gang) end() {
	g.arrived = 0
	close(g.done)
	g.done = make(chan struct{})
}

func (g *gang) abort(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
		g.end()
	}
}

type fakeCommunicator struct {
	gang *gang
	rank int
}

func (f *fake) NewCommunicators(_ context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	devices := o.Devices
	g := newGang(len(devices))
	comms := make([]kernels.Communicator, len(devices))
	for i := range comms {
		comms[i] = &fakeCommunicator{gang: g, rank: i}
	}
	return comms, nil
}

// collective runs one op on values in buffers; results go to the buffers at the given places.
func (c *fakeCommunicator) collective(ctx context.Context, op ir.Op, attrs ir.CollectiveAttrs, buffers []kernels.Buffer, to []kernels.Buffer) error {
	attrs.Replicas = c.Replicas()
	p := ir.New(op.String())
	var operands []ir.Value
	var values []reference.Value
	for _, b := range buffers {
		v, err := reference.FromBytes(b.Type(), b.Bytes())
		if err != nil {
			return err
		}
		operands, values = append(operands, p.AddInput("", v.Type)), append(values, v)
	}
	results, err := p.Add("", op, attrs, operands...)
	if err != nil {
		return err
	}
	for _, v := range results {
		p.AddOutput("", v)
	}
	out, err := c.gang.run(ctx, c.rank, p, values)
	if err != nil {
		return err
	}
	for i, v := range out {
		if err := to[i].Write(v.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (c *fakeCommunicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	return c.collective(ctx, ir.AllReduce, ir.CollectiveAttrs{Kind: kind}, values, values)
}

func (c *fakeCommunicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	return c.collective(ctx, ir.AllGather, ir.CollectiveAttrs{Axis: axis}, []kernels.Buffer{part}, []kernels.Buffer{whole})
}

func (c *fakeCommunicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	return c.collective(ctx, ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: root}, []kernels.Buffer{value}, []kernels.Buffer{value})
}

func (c *fakeCommunicator) Replica() int    { return c.rank }
func (c *fakeCommunicator) Replicas() int   { return len(c.gang.inputs) }
func (c *fakeCommunicator) Abort(err error) { c.gang.abort(err) }
func (c *fakeCommunicator) Close()          {}

// faults are ways to go wrong, each with the pattern of the tests that must notice.
var faults = map[string]struct {
	fake  fake
	where string
}{
	"one element of dot off by a little": {fake{spoil: spoilFirst(ir.Dot, 1+1e-4)}, "op/dot"},
	"NaN in a softmax":                   {fake{spoil: spoilFirst(ir.Softmax, nan)}, "op/softmax"},
	"maximum ignores NaN": {fake{spoil: func(p *ir.Program, out []reference.Value) {
		for i, x := range out {
			if len(p.Nodes) == 1 && p.Nodes[0].Op == ir.Maximum {
				for e, f := range x.F {
					if f != f {
						out[i].F[e] = 0
					}
				}
			}
		}
	}}, "op/max"},
	"an integer off by one": {fake{spoil: func(p *ir.Program, out []reference.Value) {
		if len(out) > 0 && len(out[0].I) > 0 && p.Nodes[0].Op == ir.Add {
			out[0].I[0]++
		}
	}}, "op/add"},
	"infinity for a large number":          {fake{spoil: spoilFirst(ir.Abs, 1e300)}, "op/abs"},
	"different from run to run":            {fake{spoil: wobble()}, "op/exp"},
	"in place too early":                   {fake{naive: true}, "alias"},
	"buffers not checked":                  {fake{deaf: true}, "bad input"},
	"a queue that goes on after a failure": {fake{forgetful: true}, "queue"},
	"takes a type that it says it lacks":   {fake{lacks: ir.Int16}, "op/add"},
	"all-reduce forgets a replica": {fake{spoil: func(p *ir.Program, out []reference.Value) {
		if len(p.Nodes) > 0 && p.Nodes[0].Op == ir.AllReduce && len(out[0].F) > 0 {
			out[0].F[0] /= 2
		}
	}}, "replicas"},
}

var nan = func() float64 { zero := 0.0; return zero / zero }()

// spoilFirst multiplies the first number of the first result of single-op programs.
func spoilFirst(op ir.Op, by float64) func(p *ir.Program, out []reference.Value) {
	return func(p *ir.Program, out []reference.Value) {
		if len(p.Nodes) > 0 && p.Nodes[0].Op == op && len(out) > 0 && len(out[0].F) > 0 {
			out[0].F[0] *= by
		}
	}
}

// wobble changes the last bit of every second run, which no tolerance sees.
func wobble() func(p *ir.Program, out []reference.Value) {
	runs := 0
	return func(p *ir.Program, out []reference.Value) {
		runs++
		if len(p.Nodes) > 0 && p.Nodes[0].Op == ir.Exp && len(out[0].F) > 0 && out[0].Type.DType == ir.Float64 && runs%2 == 0 {
			data := out[0].Bytes()
			if !bytes.Equal(data[:6], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) {
				data[0] ^= 1
			}
			out[0], _ = reference.FromBytes(out[0].Type, data)
		}
	}
}
