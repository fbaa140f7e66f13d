package keras

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// History is the record of a training run; see [callbacks.History].
type History = callbacks.History

// Fit trains the model on data in memory (data.Arrays) or on a dataset of batches, and returns the losses and metrics of each
// epoch.
//
// Each global batch is split over the replicas of the model's strategy as evenly as it goes; the result is that of one replica
// on the whole batch. The last batch of an epoch may be shorter. ctx is looked at between steps: when it ends, Fit returns its
// error together with the history so far, and the model keeps the weights of the last finished step.
func (m *Model) Fit(ctx context.Context, ds data.Dataset, options ...FitOption) (*History, error) {
	c, err := newFitConfig("Fit", options)
	if err != nil {
		return nil, err
	}
	if m.compiled == nil || m.compiled.config.Loss == nil {
		return nil, m.errNotCompiled("Fit")
	}
	if !m.training.TryLock() {
		return nil, fmt.Errorf("keras: Fit: model %q is already training in another goroutine; wait for it to end", m.Name())
	}
	defer m.training.Unlock()
	t, err := m.newTrainer(ds, c)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.run(ctx)
}

// trainer is one call of Fit.
type trainer struct {
	m        *Model
	c        *fitConfig
	source   source
	feed     *feeder
	parts    parts
	list     *callbacks.List
	history  *History
	evaluate *evaluator
	first    *data.Batch // read ahead to learn the shapes
	results  *resultReader
	trained  int
	notes    []string // for the log, printed where they do not disturb the progress bar
}

func (m *Model) newTrainer(ds data.Dataset, c *fitConfig) (*trainer, error) {
	seed := m.seed
	if c.seed != nil {
		seed = *c.seed
	}
	train, err := splitValidation(ds, c)
	if err != nil {
		return nil, err
	}
	if c.classWeight != nil {
		if a, ok := ds.(*data.ArraySource); ok && a.All().SampleWeight.Len() > 0 {
			return nil, fmt.Errorf("keras: Fit: ClassWeight and sample weights are both given; use one of them")
		}
	}
	src, err := newSource(train, c, c.batchSize, c.steps, seed)
	if err != nil {
		return nil, err
	}
	t := &trainer{m: m, c: c, source: src, history: &History{}}
	if c.validation != nil {
		size := c.validationBatchSize
		if _, inMemory := c.validation.(*data.ArraySource); size == 0 && inMemory {
			size = c.batchSize
		}
		v := &fitConfig{what: "Fit: validation"}
		vs, err := newSource(c.validation, v, size, c.validationSteps, 0)
		if err != nil {
			src.close()
			return nil, err
		}
		t.evaluate = &evaluator{m: m, source: vs}
	}
	return t, nil
}

// splitValidation cuts the validation part off data in memory.
func splitValidation(ds data.Dataset, c *fitConfig) (data.Dataset, error) {
	if c.validation != nil || c.validationSplit == 0 {
		return ds, nil
	}
	a, ok := ds.(*data.ArraySource)
	if !ok {
		return nil, fmt.Errorf("keras: Fit: ValidationSplit needs data in memory (data.Arrays), received %T; split the dataset with Take and Skip and use ValidationData", ds)
	}
	if a.Err() != nil {
		return nil, fmt.Errorf("keras: Fit: %w", a.Err())
	}
	cut := int(float64(a.N()) * (1 - c.validationSplit))
	if cut == 0 || cut == a.N() {
		return nil, fmt.Errorf("keras: Fit: ValidationSplit %v of %d examples leaves %d for training and %d for validation; both need at least one", c.validationSplit, a.N(), cut, a.N()-cut)
	}
	c.validation = a.Slice(cut, a.N())
	return a.Slice(0, cut), nil
}

func (t *trainer) close() {
	t.source.close()
	if t.feed != nil {
		t.feed.release()
	}
	if t.evaluate != nil {
		t.evaluate.close()
	}
}

// run goes through the epochs. The end hooks are called also after an error.
func (t *trainer) run(ctx context.Context) (*History, error) {
	m, c := t.m, t.c
	m.stopped.Store(false)
	m.output, m.history = c.output, t.history
	if err := t.peek(ctx); err != nil {
		return nil, fmt.Errorf("keras: Fit: %w", err)
	}
	all := append(append([]callbacks.Callback{}, c.callbacks...), t.history)
	if c.verbose > 0 {
		all = append(all, callbacks.NewProgbarLogger(c.verbose, c.output))
	}
	t.list = callbacks.NewList(all, m, t.params())
	if t.evaluate != nil {
		t.evaluate.list = t.list
	}
	err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBegin() })
	var logs *callbacks.Logs
	if err == nil {
		logs, err = t.epochs(ctx)
	}
	if t.trained > 0 {
		err = errors.Join(err, m.compiled.optimizer.FinalizeVariables())
	}
	err = errors.Join(err, t.list.EachAlways(func(cb callbacks.Callback) error { return cb.OnTrainEnd(logs) }))
	if err != nil {
		return t.history, fmt.Errorf("keras: Fit: %w", err)
	}
	return t.history, nil
}

func (t *trainer) params() callbacks.Params {
	return callbacks.Params{Verbose: t.c.verbose, Epochs: t.c.epochs, Steps: t.source.steps()}
}

// peek reads the first batch, builds the model for it and prepares the functions.
func (t *trainer) peek(ctx context.Context) error {
	if err := t.source.begin(ctx, t.c.initialEpoch); err != nil {
		return err
	}
	b, err := t.source.next()
	if err == io.EOF {
		return fmt.Errorf("the data are empty; expected at least one batch")
	}
	if err != nil {
		return err
	}
	t.first = b
	if err := t.m.arrange(b, &t.parts); err != nil {
		return err
	}
	if err := t.m.ready(&t.parts, t.c.classWeight); err != nil {
		return err
	}
	if err := t.m.prepareOptimizer(); err != nil {
		return err
	}
	t.results = newResultReader(t.m)
	t.feed = newFeeder(t.m.compiled.train, t.m.policy.Float())
	if t.c.verbose > 0 {
		t.feed.onCompile = func(inst *distribute.Instance) {
			t.notes = append(t.notes, fmt.Sprintf("compiled the training step for batches of %d in %s", t.feed.rows, inst.CompileTime.Round(100*time.Microsecond)))
		}
	}
	if t.evaluate != nil {
		t.evaluate.results = t.results
	}
	return nil
}

// ready builds the model for the shapes of a batch and resolves losses and metrics.
func (m *Model) ready(p *parts, classWeight map[int]float64) error {
	types := func(arrays []*tensor.Dense) ([]ir.Type, error) {
		out := make([]ir.Type, len(arrays))
		for i, a := range arrays {
			var err error
			if out[i], err = deviceType(a, m.policy.Float()); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	x, err := types(p.x)
	if err != nil {
		return err
	}
	y, err := types(p.y)
	if err != nil {
		return err
	}
	if err := m.build(x); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.prepare(y); err != nil {
		return err
	}
	c := m.compiled
	if classWeight != nil && (len(c.outputs) != 1 || len(p.w) > 0) {
		return fmt.Errorf("ClassWeight needs a model with one output and data without sample weights; the model has %d outputs and the data %d weight arrays", len(c.outputs), len(p.w))
	}
	if c.train == nil || c.weighted != len(p.w) || !sameWeights(c.classWeight, classWeight) {
		c.close()
		c.classWeight = classWeight
		m.functions(len(p.x), len(p.y), len(p.w))
	}
	return nil
}

func sameWeights(a, b map[int]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func (t *trainer) epochs(ctx context.Context) (logs *callbacks.Logs, err error) {
	for epoch := t.c.initialEpoch; epoch < t.c.epochs; epoch++ {
		if epoch > t.c.initialEpoch {
			if err := t.source.begin(ctx, epoch); err != nil {
				return logs, err
			}
		}
		if logs, err = t.epoch(ctx, epoch); err != nil {
			return logs, fmt.Errorf("epoch %d: %w", epoch+1, err)
		}
		if t.m.stopped.Load() {
			break
		}
	}
	return logs, nil
}

func (t *trainer) epoch(ctx context.Context, epoch int) (*callbacks.Logs, error) {
	if err := t.m.resetMetrics(); err != nil {
		return nil, err
	}
	if err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnEpochBegin(epoch) }); err != nil {
		return nil, err
	}
	if err := t.steps(ctx); err != nil {
		return nil, err
	}
	t.list.SetParams(t.params()) // the number of steps may be known by now
	logs := t.results.logs("")
	if err := logs.Err(); err != nil {
		return nil, err
	}
	if t.c.validates(epoch) {
		validation, err := t.evaluate.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("validation: %w", err)
		}
		for _, name := range validation.Names() {
			logs.Set("val_"+name, validation.Vector(name)...)
		}
	}
	err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnEpochEnd(epoch, logs) })
	for _, note := range t.notes {
		fmt.Fprintln(t.c.output, note)
	}
	t.notes = nil
	return logs, err
}

// steps runs the batches of one epoch.
func (t *trainer) steps(ctx context.Context) error {
	perExecution := t.m.compiled.config.StepsPerExecution
	watched := t.list.WantsBatches()
	limit := t.source.steps()
	for step := 0; limit < 0 || step < limit; {
		begin := step
		for ; step < begin+perExecution && (limit < 0 || step < limit); step++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			batch, err := t.nextBatch()
			if err == io.EOF {
				limit = step
				t.warnDry(step)
				break
			}
			if err != nil {
				return err
			}
			if watched && step == begin {
				if err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBatchBegin(begin) }); err != nil {
					return err
				}
			}
			if err := t.step(ctx, batch); err != nil {
				return fmt.Errorf("batch %d: %w", step, err)
			}
		}
		if watched && step > begin {
			logs := t.results.logs("")
			end := step - 1
			if err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBatchEnd(end, logs) }); err != nil {
				return err
			}
		}
		if t.m.stopped.Load() {
			break
		}
	}
	return nil
}

// warnDry tells that fewer batches came than were asked for.
func (t *trainer) warnDry(step int) {
	if t.c.steps > step && t.c.verbose > 0 {
		t.notes = append(t.notes, fmt.Sprintf("the data ended after %d of the %d batches of the epoch; use a dataset with Repeat, or fewer StepsPerEpoch", step, t.c.steps))
	}
}

func (t *trainer) nextBatch() (*data.Batch, error) {
	if b := t.first; b != nil {
		t.first = nil
		return b, nil
	}
	return t.source.next()
}

// step trains on one batch. It allocates nothing when the batch has the shape of the one before.
func (t *trainer) step(ctx context.Context, b *data.Batch) error {
	if err := t.m.arrange(b, &t.parts); err != nil {
		return err
	}
	inst, err := t.feed.load(&t.parts)
	if err != nil {
		return err
	}
	if err := inst.Run(ctx, t.m.seed, t.m.steps); err != nil {
		return err
	}
	t.m.steps++
	t.trained++
	return nil
}

// resetMetrics begins a new round of means.
func (m *Model) resetMetrics() error {
	for _, metric := range m.compiled.allMetrics() {
		if err := metrics.Reset(metric.metric); err != nil {
			return err
		}
	}
	return nil
}
