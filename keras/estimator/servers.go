package estimator

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// This file is Train where TrainDistribute is a ParameterServerStrategy: workers compute the gradients of the ModelFn's loss, each of batches of its own input,
// servers keep and update the variables, and the coordinator hands out the steps, calls the hooks and writes checkpoints.

// onServers returns the strategy of Train where it is one with parameter servers.
func (e *Estimator) onServers() *distribute.ParameterServerStrategy {
	s, _ := e.config.TrainDistribute.(*distribute.ParameterServerStrategy)
	return s
}

// serverTraining is a session of Train on one process of such a job.
type serverTraining struct {
	s        *Session
	strategy *distribute.ParameterServerStrategy
	job      parameters.Job
	number   int // of the call
	name     string
	done     int64        // updates that the servers have made
	saves    func() error // is called before a checkpoint is written

	optimizers []optimizers.Optimizer
	trained    []*serverVariable
	moved      []*serverVariable // by what the step assigns: moving statistics

	gradients map[*distribute.Variable]*ops.Tensor // of the trace under way

	mu    sync.Mutex // a step at a time
	left  bool
	next  func() (distribute.PerReplicaBatch, error, bool)
	ended bool // the data of this worker are used up
}

// serverVariable is a variable of the session and its like on the servers.
type serverVariable struct {
	local     *distribute.Variable
	optimizer int // that updates it
	rule      parameters.Rule
	remote    *parameters.Variable
}

// serverResult is what a step tells the coordinator.
type serverResult struct {
	Over   bool // there were no data
	Loss   float64
	Values map[string]float64
}

// serverOrder is what the coordinator tells a step.
type serverOrder struct {
	Step  int64
	Rates []float64 // of the optimizers
}

// trainOnServers is Train under a ParameterServerStrategy.
func (e *Estimator) trainOnServers(ctx context.Context, strategy *distribute.ParameterServerStrategy, inputFn InputFn, o *options) error {
	if replicas, _ := strategy.Job().Rounds(); replicas > 0 {
		return errors.New("estimator: Train: an Estimator trains asynchronously on parameter servers; leave Consistency.Synchronous out, or train a keras.Model with Fit")
	}
	checkpoint := ""
	if strategy.IsCoordinator() {
		var err error
		if checkpoint, err = e.LatestCheckpoint(); err != nil {
			return err
		}
	}
	s, err := e.newSession(TRAIN, checkpoint, nil)
	if err != nil {
		return err
	}
	defer s.function.Close()
	t := &serverTraining{s: s, strategy: strategy, job: strategy.Job(), number: strategy.NextCall()}
	if e.serverCall == 0 {
		e.serverCall = t.number
	}
	t.name = fmt.Sprintf("estimator/%d/", e.serverCall)
	s.servers = t
	over, err := t.over(ctx)
	if err != nil || over {
		return err
	}
	ds, err := distributed(strategy, t.sharded(inputFn), e.transform, true, &s.layout)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(ds.Batches(ctx, 0))
	defer stop()
	t.next = next
	if !strategy.IsCoordinator() {
		return t.work(ctx)
	}
	err = t.coordinate(ctx, o)
	text := ""
	if err != nil {
		text = err.Error()
	}
	patience := 10 * time.Second
	if ctx.Err() != nil {
		patience = 2 * time.Second // the servers may have been told to end as well
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(err, t.job.SetNote(ending, t.noteName("end"), []byte("over "+text)))
}

func (t *serverTraining) noteName(what string) string {
	return fmt.Sprintf("estimator/call %d/%s", t.number, what)
}

// over reports whether the coordinator has come to the end of this call.
func (t *serverTraining) over(ctx context.Context) (bool, error) {
	text, err := t.job.Note(ctx, t.noteName("end"))
	if err != nil || text == nil {
		return false, err
	}
	if failed := string(text[len("over "):]); failed != "" {
		return true, fmt.Errorf("estimator: Train: on the coordinator: %s", failed)
	}
	return true, nil
}

// sharded lets an input function know which part of the data is this worker's.
func (t *serverTraining) sharded(f InputFn) InputFn {
	if f == nil {
		return nil
	}
	return func(c distribute.InputContext) (data.Dataset, error) {
		c.NumInputPipelines, c.InputPipelineID = t.job.Workers(), max(t.job.Worker(), 0)
		return f(c)
	}
}

// take is what an optimizer does in a step: the gradients go to the servers.
func (t *serverTraining) take(c *Context, o optimizers.Optimizer, loss *ops.Tensor, variables distribute.Variables) {
	if t.gradients == nil {
		t.gradients = map[*distribute.Variable]*ops.Tensor{}
	}
	at := slices.Index(t.optimizers, o)
	if at < 0 {
		at = len(t.optimizers)
		t.optimizers = append(t.optimizers, o)
	}
	var known distribute.Variables
	var have []*ops.Tensor
	for i, g := range ops.NewTape(c).Gradients(loss, variables).Values {
		if g != nil {
			known, have = append(known, variables[i]), append(have, g)
		}
	}
	if len(known) == 0 {
		ops.Failf(c.Graph(), "no weight has a gradient; the loss does not depend on any of the %d weights", len(variables))
	}
	for i, g := range optimizers.ServerGradients(o, have) {
		v := known[i]
		if t.gradients[v] != nil {
			ops.Failf(c.Graph(), "Minimize is called twice for the variable %s; parameter servers make one update of a variable in a step: add the losses up", v.Path())
		}
		t.gradients[v] = g
		if slices.ContainsFunc(t.trained, func(w *serverVariable) bool { return w.local == v }) {
			continue
		}
		rule, err := optimizers.ServerRule(o, v)
		if err == nil && v.Spec().Constraint != nil {
			err = fmt.Errorf("estimator: Train: variable %s has a constraint, which an Estimator on parameter servers does not apply; leave it out, or train a keras.Model with Fit", v.Path())
		}
		if err == nil && v.Type().DType != ir.Float32 {
			err = fmt.Errorf("estimator: Train: variable %s is of type %v; parameter servers train float32", v.Path(), v.Type().DType)
		}
		if err != nil {
			ops.Fail(c.Graph(), err)
		}
		if t.s.traced {
			ops.Failf(c.Graph(), "the variable %s is trained for batches of one shape and not for others; train the same ones in all steps", v.Path())
		}
		t.trained = append(t.trained, &serverVariable{local: v, optimizer: at, rule: rule})
	}
}

// results are the gradients, in the order of the variables. The trace is over.
func (t *serverTraining) results(r *distribute.Replica) []*ops.Tensor {
	var out []*ops.Tensor
	for _, v := range t.trained {
		g := t.gradients[v.local]
		if g == nil {
			ops.Failf(r.Graph(), "the variable %s is trained for batches of one shape and not for others; train the same ones in all steps", v.local.Path())
		}
		out = append(out, ops.Cast(g, ir.Float32))
	}
	t.gradients = nil
	return out
}

// look traces the model for a batch, and finds out which variables it has.
func (t *serverTraining) look(batch distribute.PerReplicaBatch) error {
	inst, _, err := t.s.acquire(batch)
	if err != nil {
		return err
	}
	t.s.function.Release(inst)
	own := map[*distribute.Variable]bool{t.s.globalStep: true}
	for _, v := range t.trained {
		own[v.local] = true
	}
	for _, o := range t.optimizers {
		for _, v := range o.Variables() {
			own[v] = true
			if slices.Contains(t.s.variables, v) {
				continue
			}
			if err := v.Place(t.strategy, 0); err != nil {
				return err
			}
			t.s.variables = append(t.s.variables, v) // checkpoints have it
		}
	}
	for _, v := range t.s.variables {
		if !own[v] && v.Type().DType == ir.Float32 {
			t.moved = append(t.moved, &serverVariable{local: v})
		}
	}
	if len(t.trained) == 0 {
		return errors.New("estimator: Train: the ModelFn trains no variable; take EstimatorSpec.TrainOp from Context.Minimize")
	}
	return nil
}

func (t *serverTraining) all() []*serverVariable { return slices.Concat(t.trained, t.moved) }

// place puts the variables on the servers, or finds those of an earlier coordinator, or of an earlier call, which have come further.
func (t *serverTraining) place(ctx context.Context) error {
	for _, v := range t.all() {
		var created bool
		var err error
		v.remote, created, err = t.job.Create(ctx, parameters.Spec{Name: t.name + v.local.Path(), Shape: v.local.Type().Shape, Rule: v.rule, Value: func() ([]float32, error) { return floatsOf(v.local) }})
		if err == nil && created && v.rule.Kind != parameters.NoRule && t.s.step > 0 {
			slots := map[string][]float32{}
			for i, slot := range optimizers.SlotsOf(t.optimizers[v.optimizer], v.local) {
				if slots[v.rule.SlotNames()[i]], err = floatsOf(slot); err != nil {
					return err
				}
			}
			err = t.job.SetSlots(ctx, v.remote, slots, uint64(t.s.step))
		}
		if err != nil {
			return fmt.Errorf("estimator: Train: %w", err)
		}
	}
	return t.count(ctx)
}

// count asks how many updates there were: every step updates every variable, so the smallest one is asked.
func (t *serverTraining) count(ctx context.Context) error {
	least := slices.MinFunc(t.trained, func(a, b *serverVariable) int { return a.local.Size() - b.local.Size() })
	_, n, err := t.job.Slots(ctx, least.remote)
	t.done = int64(n)
	t.s.step = t.done
	return err
}

// pull brings the values here that a checkpoint has.
func (t *serverTraining) pull(ctx context.Context) error {
	for _, v := range t.all() {
		r := &parameters.Read{Variable: v.remote}
		if err := t.job.Pull(ctx, r); err != nil {
			return err
		}
		if err := setFloats(v.local, r.Values); err != nil {
			return err
		}
		if v.rule.Kind == parameters.NoRule {
			continue
		}
		slots, _, err := t.job.Slots(ctx, v.remote)
		if err != nil {
			return err
		}
		for i, slot := range optimizers.SlotsOf(t.optimizers[v.optimizer], v.local) {
			if err := setFloats(slot, slots[v.rule.SlotNames()[i]]); err != nil {
				return err
			}
		}
	}
	counters := distribute.Variables{t.s.globalStep}
	for _, o := range t.optimizers {
		if c, ok := o.(interface{ Iterations() *distribute.Variable }); ok && c.Iterations() != nil {
			counters = append(counters, c.Iterations())
		}
	}
	for _, v := range counters {
		a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, []float64{float64(t.done)})
		if err == nil {
			err = v.SetValue(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// coordinate hands out the steps.
func (t *serverTraining) coordinate(ctx context.Context, o *options) error {
	s := t.s
	batch, err, ok := t.next()
	if err != nil {
		return err
	}
	if !ok || batch[0].Examples() == 0 {
		return errors.New("estimator: Train: the input function gave no batch, so that nothing was trained")
	}
	if err := t.look(batch); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := t.place(ctx); err != nil {
		return err
	}
	begun, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if o.steps != nil && o.maxSteps == nil {
		o.maxSteps = new(int(begun) + *o.steps)
	}
	if o.maxSteps != nil && s.step >= int64(*o.maxSteps) && begun == s.step {
		return nil // max_steps has been reached before
	}
	if err := t.pull(ctx); err != nil {
		return err
	}
	s.listeners, s.hooks = o.listeners, append(s.estimator.trainingHooks(), o.hooks...)
	if o.maxSteps != nil {
		s.hooks = append(s.hooks, &StopAtStepHook{LastStep: *o.maxSteps})
	}
	t.saves = func() error { return t.pull(ctx) }
	if err := s.begin(); err != nil {
		return err
	}
	for !s.stop && (o.maxSteps == nil || s.step < int64(*o.maxSteps)) {
		over, err := t.window(ctx, o)
		if err != nil {
			return err
		}
		if over {
			break
		}
	}
	s.step = t.done
	return s.end()
}

// begin notes the step at which the call began, for a coordinator that takes over.
func (t *serverTraining) begin(ctx context.Context) (int64, error) {
	text, err := t.job.Note(ctx, t.noteName("begin"))
	if err != nil {
		return 0, err
	}
	if text == nil {
		return t.s.step, t.job.SetNote(ctx, t.noteName("begin"), strconv.AppendInt([]byte("at "), t.s.step, 10))
	}
	at, err := strconv.ParseInt(string(text[len("at "):]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("estimator: Train: the note %q: %w", text, err)
	}
	return at, nil
}

// window runs some steps, and calls the hooks for each when all have ended: then a checkpoint has the updates of whole steps.
func (t *serverTraining) window(ctx context.Context, o *options) (over bool, err error) {
	s := t.s
	n := int64(8 * t.job.Workers())
	if o.maxSteps != nil {
		n = min(n, int64(*o.maxSteps)-s.step)
	}
	if every, _ := s.estimator.config.saving(); every > 0 {
		n = min(n, int64(every)-s.step%int64(every))
	}
	pending := make([]parameters.Pending, n)
	for i := range pending {
		order := serverOrder{Step: s.step + int64(i)}
		for _, o := range t.optimizers {
			rate, err := optimizers.ServerRate(o, order.Step)
			if err != nil {
				return false, err
			}
			order.Rates = append(order.Rates, rate)
		}
		text, err := encoded(order)
		if err != nil {
			return false, err
		}
		if pending[i], err = t.job.Schedule(ctx, t.noteName("step"), text, -1); err != nil {
			return false, err
		}
	}
	var results []serverResult
	for _, p := range pending {
		value, err := p.Fetch(ctx)
		if err != nil {
			if first := t.job.Join(ctx); first != nil {
				err = first
			}
			return false, err
		}
		var r serverResult
		if err := gob.NewDecoder(bytes.NewReader(value)).Decode(&r); err != nil {
			return false, fmt.Errorf("estimator: Train: the result of a step: %w", err)
		}
		if over = over || r.Over; !r.Over {
			results = append(results, r)
		}
	}
	t.done += int64(len(results))
	run := RunContext{s}
	for _, r := range results {
		for _, h := range s.started {
			if err := h.BeforeRun(&run); err != nil {
				return false, err
			}
		}
		s.step++
		s.values = RunValues{GlobalStep: s.step, Loss: r.Loss, Values: r.Values}
		for _, h := range s.started {
			if err := h.AfterRun(&run, &s.values); err != nil {
				return false, err
			}
		}
	}
	return over, nil
}

// work computes what the coordinator asks for until it ends the call.
func (t *serverTraining) work(ctx context.Context) error {
	t.job.Register(t.noteName("step"), parameters.Function(t.step).Until(ctx)) // the data end with it too
	err := t.await(ctx)
	t.job.Register(t.noteName("step"), nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
	return err
}

// await returns when the coordinator has ended the call.
func (t *serverTraining) await(ctx context.Context) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	jobOver := make(chan error, 1)
	go func() { jobOver <- t.job.Over(waiting) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var ended error
		select {
		case err := <-jobOver:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if ended = err; err == nil {
				ended = parameters.ErrOver
			}
		case <-tick.C:
		}
		over, err := t.over(ctx)
		if over || err != nil {
			return err
		}
		if ended != nil {
			return fmt.Errorf("estimator: Train: %w", ended)
		}
	}
}

// step is a closure.
func (t *serverTraining) step(ctx context.Context, c *parameters.Closure) (out parameters.Outcome, err error) {
	var order serverOrder
	if err := gob.NewDecoder(bytes.NewReader(c.Argument)).Decode(&order); err != nil {
		return out, fmt.Errorf("the argument of a step: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return out, parameters.ErrElsewhere
	}
	batch, ok := distribute.PerReplicaBatch(nil), false
	if !t.ended {
		if batch, err, ok = t.next(); err != nil {
			return out, err
		}
	}
	if t.ended = !ok || batch[0].Examples() == 0; t.ended {
		out.Value, err = encoded(serverResult{Over: true})
		return out, err
	}
	if len(t.trained) == 0 {
		if err := t.look(batch); err != nil {
			return out, err
		}
	}
	result, err := t.compute(ctx, batch, order, &out)
	if err == nil {
		out.Value, err = encoded(result)
	}
	return out, err
}

// compute runs the step on values of the servers.
func (t *serverTraining) compute(ctx context.Context, batch distribute.PerReplicaBatch, order serverOrder, out *parameters.Outcome) (result serverResult, err error) {
	all := t.all()
	reads := make([]*parameters.Read, len(all))
	for i, v := range all {
		if v.remote == nil {
			if v.remote, err = t.job.Find(ctx, t.name+v.local.Path()); err != nil {
				return result, err
			}
		}
		reads[i] = &parameters.Read{Variable: v.remote}
	}
	if err := t.job.Pull(ctx, reads...); err != nil {
		return result, err
	}
	s := t.s
	inst, sizes, err := s.acquire(batch)
	if err != nil {
		return result, err
	}
	defer s.function.Release(inst)
	for i, v := range all {
		if err := setFloats(v.local, reads[i].Values); err != nil {
			return result, err
		}
	}
	if err := inst.Run(ctx, s.estimator.config.TFRandomSeed, uint32(order.Step)); err != nil {
		return result, err
	}
	if err := s.read(inst, sizes); err != nil {
		return result, err
	}
	result.Loss, result.Values = s.values.Loss, s.values.Values
	for i, v := range t.trained {
		if v.optimizer >= len(order.Rates) {
			return result, errors.New("the coordinator trains by other optimizers; run the same program everywhere")
		}
		a, err := output(inst, len(s.outputs)+i)
		if err != nil {
			return result, err
		}
		out.Changes = append(out.Changes, parameters.Change{Variable: v.remote, Op: parameters.Gradient, Rate: order.Rates[v.optimizer], Values: floats(a), Seen: reads[i].Seen})
	}
	for i, v := range t.moved {
		now, err := floatsOf(v.local)
		if err != nil {
			return result, err
		}
		moved := false
		for j, old := range reads[len(t.trained)+i].Values {
			now[j] -= old
			moved = moved || now[j] != 0
		}
		if moved {
			out.Changes = append(out.Changes, parameters.Change{Variable: v.remote, Op: parameters.Add, Values: now})
		}
	}
	return result, nil
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// floats are the numbers of a float32 array.
func floats(a kernels.Array) []float32 {
	out := make([]float32, len(a.Data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:]))
	}
	return out
}

func floatsOf(v *distribute.Variable) ([]float32, error) {
	a, err := v.Value()
	return floats(a), err
}

func setFloats(v *distribute.Variable, values []float32) error {
	a := kernels.NewArray(v.Type())
	for i, x := range values {
		binary.LittleEndian.PutUint32(a.Data[4*i:], math.Float32bits(x))
	}
	return v.SetValue(a)
}
