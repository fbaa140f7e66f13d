package keras

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/internal/servers"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// serverWorker computes gradients for servers.
type serverWorker struct {
	*serverFit
	ctx    context.Context // of Fit, for reading data
	fn     *distribute.Function
	lookup *tableLookups

	compute sync.Mutex // one step at a time: they share the model and the data
	dense   []*serverWeight
	trained []*serverWeight // those of dense that have a gradient
	moving  []int           // those of trained that the step also assigns
	batch   int             // synchronous training: number of the next batch; otherwise the pass over the data
	reads   bool            // asynchronous training: a batch has been read
	left    bool            // Fit has ended here

	own      string // facts about this program
	compared bool   // own was compared with the coordinator's facts

	memories stepMemories
	near     atomic.Bool   // the servers are on this host
	turn     chan struct{} // has room for one step, whose turn it is
	arrivals atomic.Uint64 // counts steps
}

// work is Fit on a worker: it computes what the coordinator requests until the call is over.
func (f *serverFit) work(ctx context.Context) (*History, error) {
	t := f.t
	replicas, _ := f.job.Rounds()
	if replicas == 0 { // each worker reads the data in its own order
		seed := t.m.seed
		if t.c.seed != nil {
			seed = *t.c.seed
		}
		if l, ok := t.source.(*loaderSource); ok {
			t.source.close()
			c := *t.c
			c.steps = 0
			src, err := t.m.newSource(l.arrays, &c, l.batchSize, 0, seed+uint64(f.job.Worker()+1)*0x9E3779B97F4A7C15)
			if err != nil {
				return nil, err
			}
			t.source = src
		}
	}
	h, over, err := f.ended(ctx)
	if err != nil {
		return nil, err
	}
	if over {
		return h, f.takeOver(ctx)
	}
	if err := t.peek(ctx); err != nil {
		return nil, prefixed("Fit", err)
	}
	if err := f.layout(); err != nil {
		return nil, prefixed("Fit", err)
	}
	w := &serverWorker{serverFit: f, ctx: ctx, turn: make(chan struct{}, 1), own: t.facts(replicas > 0)}
	if err := w.prepare(); err != nil {
		return nil, prefixed("Fit", err)
	}
	defer w.fn.Close()
	f.job.Register(f.name("step"), parameters.Function(w.step).Until(ctx)) // the data end with it too
	h, err = f.wait(ctx)
	f.job.Register(f.name("step"), nil)
	w.compute.Lock() // waits for an abandoned step
	defer w.compute.Unlock()
	w.left = true
	if back := w.leave(); err == nil {
		err = back
	}
	if err != nil {
		return h, err
	}
	return h, f.fetchAll(ctx)
}

// wait returns when the coordinator has ended this call.
func (f *serverFit) wait(ctx context.Context) (*History, error) {
	jobOver := make(chan error, 1)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { jobOver <- f.job.Over(waiting) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-jobOver:
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				return nil, prefixed("Fit", err)
			}
			if h, over, err := f.ended(ctx); over || err != nil {
				return h, err
			}
			return nil, prefixed("Fit", parameters.ErrOver)
		case <-tick.C:
			h, over, err := f.ended(ctx)
			if over || err != nil {
				return h, err
			}
		}
	}
}

// fetchAll finds the variables and reads their values.
func (f *serverFit) fetchAll(ctx context.Context) error {
	for _, w := range f.weights {
		if w.remote != nil {
			continue
		}
		var err error
		if w.remote, err = f.job.Find(ctx, f.remoteName(w.local)); err != nil {
			return err
		}
	}
	if err := f.findTables(ctx); err != nil {
		return err
	}
	return f.fetch(ctx, false)
}

// prepare makes the function that computes gradients.
func (w *serverWorker) prepare() error {
	m := w.t.m
	var err error
	if w.lookup, err = w.findLookups(); err != nil {
		return err
	}
	for _, one := range w.weights {
		if w.lookup.tables[one.local] != nil {
			continue
		}
		w.dense = append(w.dense, one)
		if one.trained {
			w.trained = append(w.trained, one)
		}
	}
	inputs, targets := m.compiled.inputs, m.compiled.targets
	w.fn = distribute.NewFunction(m.strategy, "gradients", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		in, rows := w.lookup.begin(r, in)
		before := w.read(r)
		x, y, weights := in[:inputs], in[inputs:inputs+targets], in[inputs+targets:]
		weights = m.compiled.applyClassWeights(m.policy.Float(), y, weights)
		if m.compiled.trainStep != nil {
			return w.customGradients(r, x, y, weights, rows, before)
		}
		rows = append(rows, m.rowsOf(x)...)
		total := m.measure(r, m.outputs(m.stepContext(r, true), x), y, weights)
		if !m.hasLoss(r) {
			ops.Failf(r.Graph(), "there is no loss to train on: Compile was given none, and no layer adds one or regularizes; set CompileConfig.Loss")
		}
		grads := m.compiled.checkGradients(r, w.variables(), ops.NewTape(r).Gradients(total, rowSources{w.variables(), rows})).Values
		for i, g := range grads {
			if g != nil {
				continue
			}
			if i < len(w.trained) {
				grads[i] = ops.Zeros(r, ir.Float32, w.trained[i].local.Type().Shape...)
			} else {
				grads[i] = ops.ZerosLike(rows[i-len(w.trained)])
			}
		}
		grads = optimizers.ServerGradients(w.optimizer(), grads)
		w.noteAssignments(r)
		moved := w.moved(before, w.read(r))
		for i, one := range w.trained { // the weights are not needed any more
			r.AssignMirrored(one.local, grads[i])
		}
		return append(moved, grads[len(w.trained):]...)
	})
	return nil
}

// variables returns the weights that gradients are computed for.
func (w *serverWorker) variables() (all distribute.Variables) {
	for _, t := range w.trained {
		all = append(all, t.local)
	}
	return all
}

// step is a closure: it fetches values, computes the gradients of a batch, and returns them as changes.
func (w *serverWorker) step(ctx context.Context, c *parameters.Closure) (parameters.Outcome, error) {
	arrival := w.arrivals.Add(1) // first, because everything after it may wait for the step that is computing
	var s serverStep
	if err := gob.NewDecoder(bytes.NewReader(c.Argument)).Decode(&s); err != nil {
		return parameters.Outcome{}, fmt.Errorf("the argument of a step: %w", err)
	}
	if err := w.find(ctx); err != nil {
		return parameters.Outcome{}, err
	}
	watch := newStepWatch(w.t.c.callbacks)
	leave, err := w.takeTurn(ctx)
	if err != nil {
		return parameters.Outcome{}, err
	}
	watch.lap(&watch.waiting)
	memory := w.memory()
	memory.watch = watch
	over := func() {
		memory.watch = nil
		w.giveBack(memory)
		leave()
	}
	defer func() {
		if over != nil {
			over()
		}
	}()
	ready := memory.ready >= arrival
	if memory.ready = 0; !ready { // from here on the values are overwritten, whatever happens
		if err := w.pull(ctx, memory); err != nil {
			return parameters.Outcome{}, err
		}
	}
	watch.lap(&watch.communication)
	o, err := w.computeStep(ctx, s, memory)
	if err != nil {
		return o, err
	}
	watch.lap(&watch.compute)
	end := over
	over = nil
	if w.near.Load() {
		o.Next = memory.next(arrival, w.arrivals.Load())
	}
	o.Round, o.Part, o.Release = s.Round, s.Part, func() {
		memory.filled()
		watch.lap(&watch.communication)
		watch.end()
		end()
	}
	return o, nil
}

// takeTurn waits until this step may read its weights. Over a network, steps read while others compute and send.
// Servers on this host, however, copy with the processors that compute: steps one after the other share the contents of
// the caches, and overlapping steps evict each other's. leave ends the turn.
func (w *serverWorker) takeTurn(ctx context.Context) (leave func(), err error) {
	if !w.near.Load() {
		return func() {}, nil
	}
	select {
	case w.turn <- struct{}{}:
		return func() { <-w.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pull reads the weights that a step needs as a whole.
func (w *serverWorker) pull(ctx context.Context, memory *stepMemory) error {
	if err := w.job.Pull(ctx, memory.reads...); err != nil {
		return err
	}
	all, near := 0, 0
	for _, r := range memory.reads {
		if all += len(r.Values); r.InPlace {
			near += len(r.Values)
		}
	}
	w.near.Store(2*near > all)
	return nil
}

// inPlace reports whether the step writes gradients over the weights: half as much memory fits the caches better. A
// user-defined step may need its weights to the end.
func (w *serverWorker) inPlace() bool { return w.t.m.compiled.trainStep == nil }

// lends reports whether a weight may use the memory that was read: nobody reads the weight after the step.
func (w *serverWorker) lends(one *serverWeight) bool { return one.trained && w.inPlace() }

// leave makes the weights use their own memory again, and releases that of the steps.
func (w *serverWorker) leave() error {
	var failed error
	for _, one := range w.dense {
		b, err := one.local.Buffer(0)
		if err == nil && w.lends(one) {
			err = takeBack(b)
		}
		failed = errors.Join(failed, err)
	}
	if failed == nil { // otherwise somebody may still read it
		w.memories.end()
	}
	return failed
}

// compare checks once that this worker runs the coordinator's program. A difference is reported as the error of a step,
// so that all processes learn of it.
func (w *serverWorker) compare(ctx context.Context) error {
	if w.compared || w.own == "" {
		return nil
	}
	other, err := w.job.Note(ctx, w.name("program"))
	if err == nil && other != nil {
		err = servers.FactsDiffer(w.own, string(other), "the coordinator")
	}
	w.compared = err == nil
	return err
}

// find looks up the variables, which the coordinator creates before the first step.
func (w *serverWorker) find(ctx context.Context) error {
	w.compute.Lock()
	defer w.compute.Unlock()
	if w.left {
		return parameters.ErrElsewhere
	}
	if err := w.compare(ctx); err != nil {
		return err
	}
	for _, one := range w.weights {
		if one.remote != nil {
			continue
		}
		v, err := w.job.Find(ctx, w.remoteName(one.local))
		if err != nil {
			return err
		}
		one.remote = v
	}
	return w.findTables(ctx)
}

func (w *serverWorker) computeStep(ctx context.Context, s serverStep, memory *stepMemory) (o parameters.Outcome, err error) {
	w.compute.Lock()
	defer w.compute.Unlock()
	memory.watch.lap(&memory.watch.waiting)
	if w.left {
		return o, parameters.ErrElsewhere
	}
	if err := ctx.Err(); err != nil {
		return o, err
	}
	for i, one := range w.dense {
		b, err := one.local.Buffer(0)
		if err == nil {
			err = lend(b, bytesOfFloats(memory.reads[i].Values), w.lends(one))
		}
		if err != nil {
			return o, err
		}
	}
	w.memories.forget()
	for _, v := range w.metrics {
		if err := v.SetValue(kernels.NewArray(v.Type())); err != nil {
			return o, err
		}
	}
	rows, err := w.run(ctx, s, memory)
	if err != nil {
		return o, err
	}
	for i, k := range w.moving { // first, because the gradient belongs to the assigned value
		o.Changes = append(o.Changes, parameters.Change{Variable: w.trained[k].remote, Op: w.assignment(w.trained[k]), Values: memory.moved[i]})
	}
	for i, one := range w.trained {
		o.Changes = append(o.Changes, parameters.Change{Variable: one.remote, Op: parameters.Gradient, Rate: s.Rate, Values: memory.grads[i], Room: memory.gradients, Seen: memory.seen(w.dense, one)})
	}
	o.Changes = append(o.Changes, rows.changes(s.Rate)...)
	o.Changes = append(o.Changes, w.rowChanges(rows.updates, s.Rate)...)
	if o.Changes, err = w.drift(o.Changes, memory); err != nil {
		return o, err
	}
	measured := make([][]float64, len(w.metrics))
	for i, v := range w.metrics {
		a, err := v.Value()
		if err != nil {
			return o, err
		}
		measured[i] = a.Float64s()
	}
	o.Value, err = encoded(measured)
	return o, err
}

// drift adds what a step assigns to weights that are not trained: moving statistics.
func (w *serverWorker) drift(changes []parameters.Change, memory *stepMemory) ([]parameters.Change, error) {
	for i, one := range w.dense {
		if one.trained {
			continue
		}
		now, err := one.local.Value()
		if err != nil {
			return nil, err
		}
		values := floats(now)
		if slices.Equal(values, memory.reads[i].Values) {
			continue
		}
		op := w.assignment(one)
		if op == parameters.Add {
			for j, v := range memory.reads[i].Values {
				values[j] -= v
			}
		}
		changes = append(changes, parameters.Change{Variable: one.remote, Op: op, Values: values})
	}
	return changes, nil
}

// nextBatch reads the worker's next batch, or the one that a round asks for. At the end of the data it starts over.
func (w *serverWorker) nextBatch(s serverStep) error {
	t := w.t
	if s.Batch >= 0 {
		return w.goTo(s.Batch)
	}
	if err := w.comeBack(s); err != nil {
		return err
	}
	b, err := t.nextBatch()
	if err == io.EOF {
		w.batch++
		if err = t.source.begin(w.ctx, t.c.initialEpoch+w.batch); err == nil {
			b, err = t.source.next()
		}
	}
	if err == io.EOF {
		return errors.New("the data gave no batch; a dataset must yield its batches again in each epoch")
	}
	if err != nil {
		return err
	}
	return t.m.arrange(b, &t.parts)
}

// comeBack makes a restarted worker read its data in another order. A worker that is killed often would otherwise train
// only on its first batches.
func (w *serverWorker) comeBack(s serverStep) error {
	fresh := !w.reads
	w.reads = true
	if !fresh || s.Since < int64(w.ahead()) { // at the beginning all workers are fresh
		return nil
	}
	w.t.first, w.batch = nil, int(s.Since)
	return w.t.source.restore(w.ctx, w.t.c.initialEpoch+w.batch, 0)
}

// goTo reads the batch with the given number, counted from the beginning of the first epoch and equal on all workers.
func (w *serverWorker) goTo(number int) error {
	t := w.t
	known, most := 0, 0
	switch src := t.source.(type) {
	case *loaderSource:
		known, most = src.known, 2 // it can move to any batch, at the price of reading a few
	case *datasetSource:
		known, most = src.known, math.MaxInt // it would start over and read all earlier batches
	}
	if known <= 0 {
		return errors.New("synchronous training needs data with a known number of batches, so that all workers count alike; use data.Arrays, or a dataset that tells its cardinality")
	}
	ahead := number - w.batch // batches that others have taken
	if here := t.first == nil && w.batch > 0 && number/known == (w.batch-1)/known; !here || ahead < 0 || ahead > most {
		t.first, w.batch, ahead = nil, -1, 0 // after an error the position in the data is unknown
		if err := t.source.restore(w.ctx, number/known, number%known); err != nil {
			return err
		}
	}
	w.batch = -1
	for range ahead {
		if _, err := t.source.next(); err != nil {
			return err
		}
	}
	b, err := t.source.next()
	if err != nil {
		return err
	}
	w.batch = number + 1
	return t.m.arrange(b, &t.parts)
}
