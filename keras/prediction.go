package keras

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/processors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// prediction is one call of Predict or PredictOnBatch. Finished ones are reused with their memory, so a call allocates
// nothing but its results.
type prediction struct {
	m       *Model
	parts   parts
	batch   data.Batch
	size    int // number of examples in a batch
	binder  *binder
	results []predictedOutput
	given   bool // the results are arrays of the caller's
	nan     nanCheck
	turn    chan struct{} // the channel in which the call has taken a place; nil if it needs none
}

// predictions is what the predictions of a model leave behind for later ones. It is guarded by Model.mu.
type predictions struct {
	idle    []*prediction
	first   int   // number of examples in the first batch
	rows    *bool // whether examples are independent; nil until a batch of another size comes
	binders binderPool
	turns   chan struct{}
}

// predictionLimit bounds the list of idle ones: so many goroutines at a time run without allocations.
func predictionLimit() int { return max(leastPredictions, 2*runtime.GOMAXPROCS(0)) }

const leastPredictions = 16

// takeTurn waits until fewer than turnLimit batches are being computed. More would lose time, as there are no more
// processors, and each would need memory for intermediate values.
func (p *prediction) takeTurn(ctx context.Context) error {
	m := p.m
	m.mu.Lock()
	if m.predictions.turns == nil {
		m.predictions.turns = make(chan struct{}, m.turnLimit())
	}
	turns := m.predictions.turns
	m.mu.Unlock()
	select { // usually there is a place, and trying for it first is cheap
	case turns <- struct{}{}:
	default:
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.turn = turns
	return nil
}

// turnLimit is how many batches are computed at a time. Of those that the CPUs compute each has a processor of its own:
// two on one would drive each other's data out of the caches. Other devices have work for the next call while they copy
// the results of one.
func (m *Model) turnLimit() int {
	if slices.ContainsFunc(m.strategy.Devices(), func(d kernels.Device) bool { return d.Kind != cpuDevices }) {
		return max(4, 2*runtime.GOMAXPROCS(0))
	}
	return max(2, processors.Count())
}

const cpuDevices = "cpu"

// offerTurn lets a call that waits go first. It leaves its memory to it.
func (p *prediction) offerTurn(ctx context.Context) error {
	if len(p.turn) < cap(p.turn) {
		return nil
	}
	p.putBinder()
	p.endTurn()
	return p.takeTurn(ctx)
}

// endTurn lets the next call begin.
func (p *prediction) endTurn() {
	if p.turn != nil {
		<-p.turn
		p.turn = nil
	}
}

// full reports whether a list of n has reached the limit. GOMAXPROCS takes a lock, so it is called only if it matters.
func full(n int) bool { return n >= leastPredictions && n >= predictionLimit() }

// newPrediction begins a call; finish ends it.
func (m *Model) newPrediction() *prediction {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh()
	n := len(m.predictions.idle)
	if n == 0 {
		return &prediction{m: m}
	}
	p := m.predictions.idle[n-1]
	m.predictions.idle[n-1] = nil
	m.predictions.idle = m.predictions.idle[:n-1]
	return p
}

// finish drops all references to what belongs to the caller.
func (m *Model) finish(p *prediction) {
	p.putBinder()
	p.endTurn()
	clear(p.results)
	for i := range p.parts.own {
		clear(p.parts.own[i])
	}
	p.results, p.given, p.batch, p.nan = p.results[:0], false, data.Batch{}, nanCheck{}
	p.parts.x, p.parts.y, p.parts.w = nil, nil, nil
	p.parts.batch, p.parts.ahead, p.parts.prepared = nil, nil, nil
	m.mu.Lock()
	defer m.mu.Unlock()
	if !full(len(m.predictions.idle)) {
		m.predictions.idle = append(m.predictions.idle, p)
	}
}

// failed returns err as a public function reports it.
func (p *prediction) failed(ctx context.Context, what string, err error) error {
	return prefixed(what, interrupted(ctx, err))
}

// direct returns the prediction for examples in memory, which are read in place. It returns nil for everything that
// needs more: a dataset, options other than BatchSize, layers that run on the host, or wrong arguments.
func (m *Model) direct(ctx context.Context, ds data.Dataset, options []PredictOption) *prediction {
	a, ok := ds.(*data.ArraySource)
	if !ok || a == nil || a.Err() != nil || ctx == nil || a.TextType() != "" || m.stage() != nil {
		return nil
	}
	size, nan := data.DefaultBatchSize, nanCheck{}
	if len(options) > 0 {
		c, err := newFitConfig("Predict", options, PredictOption.applyPredict)
		if err != nil || c.steps != 0 || c.verbose != 0 || len(c.callbacks) > 0 {
			return nil
		}
		if c.batchSize > 0 {
			size = c.batchSize
		}
		nan = c.nanCheck()
	}
	p := m.newPrediction()
	p.batch, p.size, p.nan = a.All(), size, nan
	return p
}

// run predicts all examples of the current batch, p.size at a time.
func (p *prediction) run(ctx context.Context) error {
	if err := p.m.arrangeInputs(&p.batch, &p.parts); err != nil {
		return fmt.Errorf("batch 0: %w", err)
	}
	if err := p.look(); err != nil {
		return err
	}
	if err := p.takeTurn(ctx); err != nil {
		return err
	}
	n := p.parts.rows()
	if n == 0 { // a result without rows, but of the right shape
		return p.compute(ctx, 0, 0)
	}
	for from := 0; from < n; from += p.size {
		err := ctx.Err()
		if err != nil {
			return err
		}
		if err = p.compute(ctx, from, min(p.size, n-from)); err == nil && from+p.size < n {
			err = p.offerTurn(ctx)
		}
		if err != nil {
			return fmt.Errorf("batch %d: %w", from/p.size, err)
		}
	}
	return nil
}

// look finds the first NaN of all examples, and the batch that it will be in.
func (p *prediction) look() error {
	for i := range p.parts.x {
		a := p.parts.x[i]
		at, err := firstNaN(a)
		if err != nil {
			return fmt.Errorf("%s: %w", p.parts.label(i), err)
		}
		if at < 0 || len(a.Shape()) == 0 {
			continue
		}
		row := ir.Shape(a.Shape()[1:]).Size()
		batch := at / row / p.size
		where := fmt.Sprintf("Predict: batch %d", batch)
		what := fmt.Sprintf("%s has a NaN (element %d of example %d)", p.m.nameOf(&p.parts, i), at%row, at/row)
		if err := p.nan.tell(what, where, spoilsPrediction); err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
		return nil
	}
	return nil
}

// onBatch predicts all examples of a as one batch.
func (p *prediction) onBatch(ctx context.Context, a *data.ArraySource) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.m.checkText(a); err != nil {
		return err
	}
	p.batch = a.All()
	if err := p.m.arrangeInputs(&p.batch, &p.parts); err != nil {
		return err
	}
	if err := p.takeTurn(ctx); err != nil {
		return err
	}
	if err := p.compute(ctx, 0, p.parts.rows()); err != nil {
		return err
	}
	return p.checkResults()
}

// compute predicts examples from to from+n-1 of the current arrays.
func (p *prediction) compute(ctx context.Context, from, n int) error {
	if err := p.takeBinder(n); err != nil {
		return err
	}
	inst, err := p.load(from, n)
	if err != nil {
		return err
	}
	if len(p.results) == 0 {
		if err := p.checkRoom(inst, n); err != nil {
			return err
		}
	}
	if p.hasLarge(inst) {
		p.lend(inst, n)
		defer p.takeBack(inst)
	}
	return p.m.predictOn(ctx, inst, func() error { return p.collect(inst, n) })
}

// load makes examples the inputs of an instance; a whole batch of a dataset may already be staged.
func (p *prediction) load(from, n int) (*distribute.Instance, error) {
	if p.parts.ahead != nil && from == 0 && n == p.parts.rows() {
		return p.binder.load(&p.parts)
	}
	return p.binder.loadRows(&p.parts, from, n)
}

// takeBinder sets p.binder to one that has an instance for n examples, if there is one that no other call uses.
func (p *prediction) takeBinder(n int) error {
	if p.binder != nil && p.binder.fits(&p.parts, n) {
		return nil
	}
	p.putBinder()
	f, err := p.idleBinder(n)
	if err != nil || f != nil {
		p.binder = f
		return err
	}
	fn, err := p.m.predictFunction(&p.parts)
	if err != nil {
		return err
	}
	p.binder = newBinder(fn, p.m.policy.Float())
	p.binder.pads = p.m.padsRows(n)
	return nil
}

// idleBinder returns a binder with an instance for n examples, or nil if there is none for their shapes.
func (p *prediction) idleBinder(n int) (*binder, error) {
	m := p.m
	m.mu.Lock()
	rows, pads := m.programRows(n)
	f, unused := m.predictions.binders.take(m.predict, &p.parts, n, rows, pads)
	m.mu.Unlock()
	if unused != nil {
		m.park(unused)
	}
	if f == nil || f.inst != nil {
		return f, nil
	}
	return f, f.acquireAgain()
}

// park releases the binder's instance, and keeps the rest.
func (m *Model) park(f *binder) {
	f.release()
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.fn == m.predict {
		m.predictions.binders.park(f)
	}
}

// putBinder leaves the binder to the next call.
func (p *prediction) putBinder() {
	f := p.binder
	p.binder = nil
	if f == nil || f.inst == nil {
		return
	}
	f.forget()
	f.planned, f.staging = false, nil // for the data of the next call
	f.key = f.shapeKey()
	m := p.m
	m.mu.Lock()
	unused := m.predictions.binders.hold(f, max(1, cap(p.turn)))
	m.mu.Unlock()
	if unused != nil {
		m.park(unused)
	}
}

// forgetPredictions frees what predictions left behind, because the model has changed. Model.mu is held.
func (m *Model) forgetPredictions() {
	for _, f := range m.predictions.binders.held {
		f.release()
	}
	m.predictions = predictions{}
	m.predict = nil
}

// single returns the result of a model with one output.
func (p *prediction) single(what string) (data.Array, error) {
	if n := len(p.results); n != 1 {
		return data.Array{}, fmt.Errorf("keras: %s: model %q has %d outputs; use PredictAll", what, p.m.Name(), n)
	}
	out, err := p.results[0].dense()
	if err != nil {
		return data.Array{}, prefixed(what, err)
	}
	return out, nil
}

// all returns the results in the order of the model's outputs.
func (p *prediction) all() ([]data.Array, error) {
	out := make([]data.Array, len(p.results))
	for i := range out {
		var err error
		if out[i], err = p.results[i].dense(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// outputs returns the number of results, which are allocated unless the caller has given arrays.
func (p *prediction) outputs() int {
	outputs := len(p.m.outputTypes)
	if len(p.results) == 0 {
		for range outputs {
			p.results = append(p.results, predictedOutput{})
		}
	}
	return outputs
}

// collect appends the results of the replicas for n examples, in order.
func (p *prediction) collect(inst *distribute.Instance, n int) error {
	outputs := p.outputs()
	if len(p.results) != outputs {
		return fmt.Errorf("received %d arrays for the results; model %q has %d outputs", len(p.results), p.m.Name(), outputs)
	}
	total := max(n, p.parts.rows()) // a batch may be a part of the current arrays
	for i := range p.results {
		for replica := range p.binder.sizes {
			rows := -1
			if p.binder.pads {
				rows = n
			} else if p.binder.part > 0 {
				rows = p.binder.sizes[replica]
			}
			if err := p.results[i].add(i, inst.Output(replica, i), rows, total); err != nil {
				return err
			}
		}
	}
	return nil
}
