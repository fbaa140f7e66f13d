package keras

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
)

// Evaluate returns the loss and metrics of the model on data, by name: scores["loss"], scores["accuracy"].
//
// Layers that draw random numbers whether they are trained or not draw new numbers for each batch of each call. The
// numbers depend on the seed, the number of training steps so far and the number of batches evaluated since.
//
// Batches of many sizes share programs if losses and metrics can exclude the rows that pad a batch to one of a few
// sizes. Values for single examples equal those of a program for the batch's own size bit for bit; sums over examples
// may be added in another order and differ in the last digits. The first size that a model evaluates, sizes below 8,
// and user-defined steps have separate programs.
func (m *Model) Evaluate(ctx context.Context, ds data.Dataset, options ...EvaluateOption) (map[string]float64, error) {
	logs, err := m.EvaluateLogs(ctx, ds, options...)
	if err != nil {
		return nil, err
	}
	scores := map[string]float64{}
	for _, name := range logs.Names() {
		scores[name], _ = logs.Get(name)
	}
	return scores, nil
}

// EvaluateLogs is Evaluate with all numbers of metrics that have several.
func (m *Model) EvaluateLogs(ctx context.Context, ds data.Dataset, options ...EvaluateOption) (*callbacks.Logs, error) {
	c, err := newFitConfig("Evaluate", options, EvaluateOption.applyEvaluate)
	if err != nil {
		return nil, err
	}
	if err := m.begin(ctx, "Evaluate"); err != nil {
		return nil, err
	}
	defer m.training.Unlock()
	done := false
	defer m.tellPanic("Evaluate", &done)
	logs, err := m.evaluate(ctx, ds, c)
	done = true
	return logs, err
}

func (m *Model) evaluate(ctx context.Context, ds data.Dataset, c *fitConfig) (*callbacks.Logs, error) {
	m.closeBatches()
	src, err := m.newSource(ds, c, c.batchSize, c.steps, 0)
	if err != nil {
		m.failTogether(err)
		return nil, err
	}
	m.beginRun(c.output)
	e := &evaluator{m: m, source: src, nan: c.nanCheck()}
	defer e.close()
	all := append([]callbacks.Callback{}, c.callbacks...)
	if c.verbose > 0 {
		all = append(all, callbacks.NewProgbarLogger(c.verbose, c.output))
	}
	e.list = callbacks.NewList(all, m, callbacks.Params{Verbose: c.verbose, Epochs: 1, Steps: src.steps()})
	logs, err := e.run(e.list.Context(ctx))
	if err != nil {
		m.failTogether(err)
		return nil, prefixed("Evaluate", interrupted(ctx, err))
	}
	return logs, nil
}

// evaluator runs the test step over data. Fit keeps one for validation.
type evaluator struct {
	m       *Model
	source  source
	list    *callbacks.List
	binder  *binder
	parts   parts
	results *resultReader
	inFit   bool // validation: Fit's functions are used
	nan     nanCheck
}

func (e *evaluator) close() {
	e.source.close()
	if e.binder != nil {
		e.binder.release()
	}
}

// trace traces the user's test step for the first batch, whose arrays may differ from those of training. It does so
// before training: mistakes are then found at once, and the step's metrics exist when a backup is restored.
func (e *evaluator) trace(ctx context.Context) error {
	defer e.source.close() // run starts from the beginning
	if err := e.source.begin(ctx, 0); err != nil {
		return err
	}
	b, err := e.source.next()
	if err == io.EOF {
		return nil // run reports it
	}
	if err != nil {
		return err
	}
	e.parts.from(e.source, b)
	if err := e.m.arrange(b, &e.parts); err != nil {
		return err
	}
	return e.m.ready(&e.parts, e.m.compiled.classWeight, false, true)
}

func (e *evaluator) run(ctx context.Context) (*callbacks.Logs, error) {
	e.source.close() // always from the beginning
	if e.inFit {
		e.m.tested = 0 // also if a validation is repeated after workers were lost
	}
	looksForNaN(e.source, !e.nan.told || e.nan.refuse)
	lendsMemory(e.source, distribute.WorkersOf(e.m.strategy) == nil)
	if err := e.source.begin(ctx, 0); err != nil {
		return nil, err
	}
	err := e.list.Each(func(cb callbacks.Callback) error { return cb.OnTestBegin() })
	var logs *callbacks.Logs
	if err == nil {
		logs, err = e.batches(ctx)
	}
	if err != nil {
		e.list.Fail(err)
	}
	shown := addLogs(callbacks.NewLogs(nil), "", logs) // what callbacks add is not a result
	err = errors.Join(err, e.list.EachAlways(func(cb callbacks.Callback) error { return cb.OnTestEnd(shown) }))
	if err != nil {
		return nil, err
	}
	return logs, nil
}

func (e *evaluator) batches(ctx context.Context) (*callbacks.Logs, error) {
	seen, rows := 0, 0
	for limit := e.source.steps(); limit < 0 || seen < limit; seen++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := e.source.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = e.batch(ctx, b, seen)
		}
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", seen, err)
		}
		rows += e.parts.rows()
	}
	if seen == 0 {
		return nil, fmt.Errorf("the data are empty; expected at least one batch")
	}
	if g := distribute.WorkersOf(e.m.strategy); g != nil { // if one worker is left out, nobody has its part
		if err := g.Agree(ctx, distribute.WorkerCall{Name: fmt.Sprintf("evaluation of %d batches, %d examples", seen, rows)}); err != nil {
			return nil, err
		}
	}
	logs := e.results.logs("")
	if err := logs.Err(); err != nil {
		return nil, err
	}
	return logs, nil
}

func (e *evaluator) batch(ctx context.Context, b *data.Batch, index int) error {
	e.parts.from(e.source, b)
	if err := e.m.arrange(b, &e.parts); err != nil {
		return err
	}
	if index == 0 {
		if err := e.prepare(); err != nil {
			return err
		}
	}
	if err := e.m.compiled.check(&e.parts, false); err != nil {
		return err
	}
	if err := e.look(index); err != nil {
		return err
	}
	watched := e.list.WantsBatches()
	if watched {
		if err := e.list.Each(func(cb callbacks.Callback) error { return cb.OnTestBatchBegin(index) }); err != nil {
			return err
		}
	}
	inst, err := e.binder.load(&e.parts)
	if err != nil {
		return err
	}
	e.m.measured.Add(1)
	if err := e.m.testOn(ctx, inst); err != nil || !watched {
		return err
	}
	logs := e.results.batchLogs()
	return e.list.Each(func(cb callbacks.Callback) error { return cb.OnTestBatchEnd(index, logs) })
}

// look checks labels and numbers for values that could only spoil the result.
func (e *evaluator) look(index int) error {
	if index == 0 {
		if err := e.m.checkLabels(&e.parts); err != nil {
			return err
		}
	}
	if e.nan.told && !e.nan.refuse {
		looksForNaN(e.source, false)
		return nil
	}
	what := "Evaluate"
	if e.inFit {
		what = "validation"
	}
	return e.nan.look(e.m, &e.parts, func() string { return fmt.Sprintf("%s: batch %d", what, index) }, spoilsScores)
}

// prepare makes the model and functions ready for the shapes of the first batch, and resets the metrics.
func (e *evaluator) prepare() error {
	c := e.m.compiled
	e.m.mu.Lock()
	e.m.refresh()
	e.m.mu.Unlock()
	if !e.inFit && (!e.m.known(false) || c.test == nil || !c.testFits(&e.parts)) {
		if err := e.m.ready(&e.parts, nil, false, true); err != nil {
			return err
		}
	}
	if e.binder == nil || e.binder.fn != c.test {
		e.binder = e.m.newTestBinder()
	}
	if e.results == nil {
		e.results = newResultReader(e.m, false)
	}
	return e.m.resetMetrics()
}
