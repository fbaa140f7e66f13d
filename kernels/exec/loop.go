package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// loop is several steps of an instance as one program, which repeats the step on the device, with a batch for each.
type loop struct {
	steps    int
	replicas []loopReplica
	staged   int // waiting batches
	seed     uint64
	first    uint32 // step of the first of them
	running  bool   // launch means the loop
}

type loopReplica struct {
	session kernels.Session
	slots   [][]kernels.Buffer // by step: the data
	inputs  []kernels.Buffer
	outputs []kernels.Buffer
}

// Loops reports whether several steps can be one launch: the devices can repeat steps by themselves (see
// [kernels.Looper]), and a step leaves nothing but the new values of variables.
func (inst *Instance) Loops() bool {
	if inst.remote || inst.halves || !inst.writes || len(inst.sharded) > 0 || inst.unlooped {
		return false
	}
	for i := range inst.replicas {
		r := &inst.replicas[i]
		if len(r.results) > 0 || len(r.fetched) > 0 || len(r.updates) > 0 {
			return false
		}
		backend, err := kernels.Lookup(inst.lane.queues[i].Device().Kind)
		if err != nil {
			return false
		}
		if l, ok := backend.(kernels.Looper); !ok || !l.LoopsSteps() {
			return false
		}
	}
	return true
}

// Stage keeps the inputs for one of several steps. The last one launches all of them as one program, in which the
// device repeats the step. Seed and step are as for Launch; steps must be consecutive. If the launch fails, none of
// them has changed anything: the [*LateError] counts the earlier ones.
func (inst *Instance) Stage(ctx context.Context, seed uint64, step uint32, of int) error {
	if of < 2 {
		return inst.Launch(ctx, seed, step)
	}
	if inst.loop == nil || inst.loop.steps != of {
		inst.closeLoop()
		if err := inst.makeLoop(of); err != nil {
			inst.closeLoop()
			inst.unlooped = true
			return inst.Launch(ctx, seed, step) // one by one
		}
	}
	l := inst.loop
	if l.staged == 0 {
		l.seed, l.first = seed, step
	}
	for i := range inst.replicas {
		for j, b := range inst.replicas[i].data {
			if err := mistake(l.replicas[i].slots[l.staged][j].CopyFrom(b)); err != nil {
				return l.undo(err, l.staged)
			}
		}
	}
	if l.staged++; l.staged < of {
		return nil
	}
	l.staged, l.running = 0, true
	err := inst.Launch(ctx, l.seed, l.first)
	l.running = false
	if err != nil {
		return l.undo(err, of-1)
	}
	for i := range inst.replicas {
		inst.replicas[i].random.step += uint32(of - 1)
	}
	return nil
}

// mistake is the error of a copy that has already ended. It does not wait for other copies: the launches are ordered
// after them.
func mistake(e kernels.Event) error {
	if e.Done() {
		return e.Wait(context.Background())
	}
	return nil
}

// undo adds the number of staged steps that an error has lost.
func (l *loop) undo(err error, steps int) error {
	l.staged = 0
	var late *LateError
	if errors.As(err, &late) {
		late.Undone += steps
		return err
	}
	if steps == 0 {
		return err
	}
	return &LateError{err, steps}
}

// Flush launches the staged steps, one after the other.
func (inst *Instance) Flush(ctx context.Context) error {
	l := inst.loop
	if l == nil || l.staged == 0 {
		return nil
	}
	n := l.staged
	for k := range n {
		for i := range inst.replicas {
			for j, b := range inst.replicas[i].data {
				if err := mistake(b.CopyFrom(l.replicas[i].slots[k][j])); err != nil {
					return l.undo(err, n-k)
				}
			}
		}
		if err := inst.Launch(ctx, l.seed, l.first+uint32(k)); err != nil {
			return l.undo(err, n-k)
		}
	}
	l.staged = 0
	return nil
}

// makeLoop compiles the loop and allocates memory for its batches.
func (inst *Instance) makeLoop(steps int) error {
	l := &loop{steps: steps, replicas: make([]loopReplica, len(inst.replicas))}
	inst.loop = l
	var made kernels.Executable
	var of *tracedProgram
	defer func() {
		if made != nil {
			made.Close() // sessions stay usable
		}
	}()
	for i := range inst.replicas {
		r, device := &inst.replicas[i], inst.lane.queues[i].Device()
		backend, err := kernels.Lookup(device.Kind)
		if err != nil {
			return err
		}
		traced := inst.owner.programs[i]
		if made == nil {
			program, err := repeated(traced, steps)
			if err != nil {
				return err
			}
			if made, err = backend.Compile(program, kernels.CompileOptions{Device: device, Replicas: inst.total}); err != nil {
				return err
			}
			of = traced
		} else if traced != of {
			return errors.New("distribute: replicas with different programs")
		}
		own := &l.replicas[i]
		if own.session, err = made.NewSession(kernels.SessionOptions{Device: device, Replica: r.id}); err != nil {
			return err
		}
		own.outputs = make([]kernels.Buffer, len(traced.program.Outputs))
		for range steps {
			var slot []kernels.Buffer
			for _, b := range r.data {
				copied, err := backend.NewBuffer(device, b.Type())
				if err != nil {
					return err
				}
				slot = append(slot, copied)
			}
			own.slots = append(own.slots, slot)
		}
		own.bind(r, traced)
	}
	return nil
}

// bind puts the buffers in the order of the loop's inputs.
func (l *loopReplica) bind(r *replicaInstance, p *tracedProgram) {
	data := 0
	for i, b := range r.inputs {
		if !p.isData(i) {
			l.inputs = append(l.inputs, b)
			continue
		}
		for _, slot := range l.slots {
			l.inputs = append(l.inputs, slot[data])
		}
		data++
	}
}

// isData reports whether an input of the program is neither a variable nor the random state.
func (p *tracedProgram) isData(i int) bool { return i != p.random && !slices.Contains(p.inputs, i) }

func (inst *Instance) closeLoop() {
	if inst.loop == nil {
		return
	}
	for _, r := range inst.loop.replicas {
		if r.session != nil {
			r.session.Close()
		}
		for _, slot := range r.slots {
			for _, b := range slot {
				b.Free()
			}
		}
	}
	inst.loop = nil
}

// repeated is the program of several steps: a scan over the batches that carries the variables. Each data input becomes
// one for each step.
func repeated(p *tracedProgram, steps int) (*ir.Program, error) {
	step := p.program
	out := ir.New(step.Name + "_loop")
	renamed := make([]int, len(step.Inputs)) // inputs that are not data, in out
	values := make([]ir.Value, len(step.Inputs))
	for i, in := range step.Inputs {
		t := step.Type(in.Value)
		if !p.isData(i) {
			renamed[i] = len(out.Inputs)
			values[i] = out.AddInput(in.Name, t)
			continue
		}
		one := append(ir.Shape{1}, t.Shape...)
		var parts []ir.Value
		batches := make([]ir.Value, steps)
		for k := range batches {
			batches[k] = out.AddInput(fmt.Sprintf("%s_%d", in.Name, k), t)
		}
		for _, batch := range batches {
			part, err := out.Add("loop", ir.Reshape, ir.ReshapeAttrs{Shape: one}, batch)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part[0])
		}
		stacked, err := out.Add("loop", ir.Concat, ir.AxisAttrs{Axis: 0}, parts...)
		if err != nil {
			return nil, err
		}
		values[i] = stacked[0]
	}
	body := *step
	body.Inputs, body.Outputs = nil, nil
	var in []ir.Value
	take := func(i int) {
		body.Inputs, in = append(body.Inputs, step.Inputs[i]), append(in, values[i])
	}
	carried := map[int]bool{}
	for _, o := range step.Outputs {
		body.Outputs = append(body.Outputs, ir.Output{Name: o.Name, Value: o.Value, Alias: -1})
		carried[o.Alias] = true
		take(o.Alias)
	}
	a := ir.ScanAttrs{Body: &body, Length: steps, Carry: len(step.Outputs)}
	for _, data := range []bool{true, false} {
		for i := range step.Inputs {
			if !carried[i] && p.isData(i) == data {
				take(i)
				if data {
					a.Xs++
				}
			}
		}
	}
	final, err := out.Add("loop", ir.Scan, a, in...)
	if err != nil {
		return nil, err
	}
	for k, o := range step.Outputs {
		out.AddAlias(o.Name, final[k], renamed[o.Alias])
	}
	return out, nil
}
