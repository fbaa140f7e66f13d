package keras

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/metrics"
)

// History is the record of a training run; see [callbacks.History].
type History = callbacks.History

// Fit trains the model on data in memory (data.Arrays) or on a dataset of batches, and returns the losses and metrics
// of each epoch.
//
// Each global batch is split as evenly as possible over the replicas of the model's strategy; the result is the same as
// with one replica and the whole batch. The last batch of an epoch may be shorter. ctx is checked between steps: when
// it ends, Fit returns its error together with the history so far, and the model keeps the weights of the last finished
// step.
func (m *Model) Fit(ctx context.Context, ds data.Dataset, options ...FitOption) (*History, error) {
	c, err := newFitConfig("Fit", options, FitOption.applyFit)
	if err != nil {
		return nil, err
	}
	if err := m.begin(ctx, "Fit"); err != nil {
		return nil, err
	}
	defer m.training.Unlock()
	done := false
	defer m.tellPanic("Fit", &done)
	h, err := m.fit(ctx, ds, c)
	done = true
	return h, err
}

func (m *Model) fit(ctx context.Context, ds data.Dataset, c *fitConfig) (*History, error) {
	m.closeBatches()
	t, err := m.newTrainer(ds, c)
	if err != nil {
		m.failTogether(err)
		return nil, err
	}
	defer t.close()
	if s := m.onServers(); s != nil {
		return m.fitOnServers(ctx, s, t)
	}
	h, err := t.run(ctx)
	m.failTogether(err)
	return h, err
}

// begin claims the model for training or evaluation; the caller unlocks m.training.
func (m *Model) begin(ctx context.Context, what string) error {
	if ctx == nil {
		return fmt.Errorf("keras: %s: the context is nil; pass context.Background()", what)
	}
	if !m.training.TryLock() {
		return fmt.Errorf("keras: %s: model %q is training or evaluating already, in another goroutine or around the callback that calls this; wait for it to end", what, m.Name())
	}
	if m.compiled == nil {
		m.training.Unlock()
		return m.errNotCompiled(what)
	}
	return nil
}

// interrupted makes an error after the end of ctx say that ctx ended, whatever cause ctx was given.
func interrupted(ctx context.Context, err error) error {
	end := ctx.Err()
	if err == nil || end == nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) { // whoever cancelled gave a cause
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// trainer is one call of Fit.
type trainer struct {
	m         *Model
	c         *fitConfig
	source    source
	binder    *binder
	parts     parts
	list      *callbacks.List
	recording *tracing.Slot // of the run, or nil
	all       []callbacks.Callback
	history   *History
	evaluate  *evaluator
	first     *data.Batch // read ahead to learn the shapes
	results   *resultReader
	trained   int
	skipped   int        // number of batches of the first epoch to skip
	measured  bool       // the metrics of those batches are in the run's measures
	now       *fitRun    // the position of the run, as callbacks see it
	workers   *together  // for a strategy over several processes; nil: another strategy
	recovery  *recoverer // for a job that survives the loss of workers; nil: a lost worker ends Fit
	servers   *serverFit // for a ParameterServerStrategy; nil: another strategy
	check     inputCheck
	notes     []string // for the log, printed when they do not break up the progress bar
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
	if len(c.classWeight) > 0 {
		if a, ok := ds.(*data.ArraySource); ok && a.All().SampleWeight.Len() > 0 {
			return nil, fmt.Errorf("keras: Fit: ClassWeight and sample weights are both given; use one of them")
		}
	}
	src, err := m.newSource(train, c, c.batchSize, c.steps, seed)
	if err != nil {
		return nil, err
	}
	t := &trainer{m: m, c: c, source: src, history: &History{}, check: inputCheck{nan: c.nanCheck()}}
	if c.validation != nil {
		size := c.validationBatchSize
		if _, inMemory := c.validation.(*data.ArraySource); size == 0 && inMemory {
			size = c.batchSize
		}
		v := &fitConfig{what: "Fit: validation"}
		vs, err := m.newSource(c.validation, v, size, c.validationSteps, 0)
		if err != nil {
			src.close()
			return nil, err
		}
		t.evaluate = &evaluator{m: m, source: vs, inFit: true, nan: c.nanCheck()}
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
		return nil, prefixed("Fit", a.Err())
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
	if t.binder != nil {
		t.binder.release()
	}
	if t.evaluate != nil {
		t.evaluate.close()
	}
}

// run trains all epochs. The end hooks are called even after an error.
func (t *trainer) run(ctx context.Context) (*History, error) {
	m, c := t.m, t.c
	outer := ctx
	t.now = m.beginRun(c.output)
	t.now.history, t.now.at = t.history, progress{Epoch: c.initialEpoch}
	if g := distribute.WorkersOf(m.strategy); g != nil {
		late, release := t.join(ctx, g)
		defer release()
		ctx = late
	}
	if err := t.peek(ctx); err != nil {
		return t.history, prefixed("Fit", interrupted(outer, err))
	}
	all := append(append([]callbacks.Callback{}, c.callbacks...), t.history)
	if c.verbose > 0 {
		all = append(all, callbacks.NewProgbarLogger(c.verbose, c.output))
	}
	all = backupsLast(all)
	t.now.fit = t
	defer func() { t.now.fit = nil }()
	t.all, t.list = all, callbacks.NewList(all, m, t.params())
	ctx = t.list.Context(ctx)
	t.recording = tracing.SlotOf(ctx)
	if t.evaluate != nil {
		t.evaluate.list = t.list
	}
	err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBegin() })
	if err == nil {
		err = t.restoreCallbacks()
	}
	if err == nil {
		err = t.synchronize(ctx)
	}
	if err == nil {
		err = t.moveOn(ctx)
	}
	if err == nil {
		err = t.sayIfDone()
	}
	var logs *callbacks.Logs
	if err == nil {
		logs, err = t.epochs(ctx)
	}
	if late := m.settle(); err == nil {
		err = late
	} else if late != nil && errors.Is(err, kernels.ErrDeviceLost) { // it knows which step was running
		err = fmt.Errorf("%w; then %w", late, err)
	}
	if t.trained > 0 && err == nil { // a run that was stopped may resume later, from its weights and not from their averages
		m.values.Lock()
		err = m.compiled.finalizeVariables()
		m.values.Unlock()
	}
	if err != nil {
		t.list.Fail(err)
	}
	err = errors.Join(err, t.list.EachAlways(func(cb callbacks.Callback) error { return cb.OnTrainEnd(logs) }))
	if err != nil {
		return t.history, prefixed("Fit", interrupted(outer, err))
	}
	if t.recovery != nil {
		t.recovery.leave(ctx)
	}
	return t.history, nil
}

func (t *trainer) params() callbacks.Params {
	return callbacks.Params{Verbose: t.c.verbose, Epochs: t.c.epochs, Steps: t.source.steps()}
}

// peek reads the first batch, builds the model for it and prepares the functions.
func (t *trainer) peek(ctx context.Context) error {
	looksForNaN(t.source, t.servers == nil)
	lendsMemory(t.source, t.workers == nil && t.servers == nil) // several workers or parameter servers may repeat a step
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
	own := t.m.compiled.testStep != nil
	if err := t.m.ready(&t.parts, t.c.classWeight, true, t.evaluate != nil && !own); err != nil {
		return err
	}
	if t.evaluate != nil && own {
		if err := t.evaluate.trace(ctx); err != nil {
			return fmt.Errorf("validation: %w", err)
		}
	}
	if err := t.m.prepareTraining(); err != nil {
		return err
	}
	if err := t.m.prepareTables(); err != nil {
		return err
	}
	t.results = newResultReader(t.m, true)
	t.binder = newBinder(t.m.compiled.train, t.m.policy.Float())
	if t.c.verbose > 0 {
		t.binder.onCompile = func(inst *distribute.Instance) {
			if inst.CompileTime < slowCompile {
				return
			}
			t.notes = append(t.notes, fmt.Sprintf("compiled the training step for batches of %d in %s", t.binder.rows, inst.CompileTime.Round(100*time.Millisecond)))
		}
	}
	if len(t.m.compiled.trainable) == 0 && t.c.verbose > 0 {
		t.notes = append(t.notes, fmt.Sprintf("model %q has no weights to train; its loss and metrics are only measured", t.m.Name()))
	}
	return nil
}

// slowCompile is the compile time of a step from which on the log mentions it, as an explanation of the delay.
const slowCompile = time.Second

// ready builds the model for the shapes of a batch and resolves losses and metrics, for training, testing or both.
func (m *Model) ready(p *parts, classWeight map[int]float64, train, test bool) error {
	x, y, err := p.types(m.policy.Float())
	if err != nil {
		return err
	}
	var own []*customStep // the requested steps that are the user's
	keras := false        // whether a step of Keras's is requested
	for _, mode := range []struct {
		wanted bool
		step   *customStep
	}{{train, m.compiled.trainStep}, {test, m.compiled.testStep}} {
		switch {
		case mode.wanted && mode.step != nil:
			own = append(own, mode.step)
		case mode.wanted:
			keras = true
		}
	}
	if keras || !m.stepBuilds() {
		if err := m.build(x); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.compiled
	if m.refreshSteps(); train && c.stale {
		return m.errStale()
	}
	if c.train != nil && !c.fits(p) && (train || c.testStep == nil) {
		c.ready = false // other data, whose targets may belong to other outputs
	}
	if keras {
		if err := m.prepare(y, m.outputTypes); err != nil {
			return err
		}
	}
	if train && len(classWeight) > 0 && len(p.y) != 1 && !keras {
		return fmt.Errorf("ClassWeight needs data with one array of targets, the labels; received %d", len(p.y))
	}
	if (train || keras) && len(classWeight) > 0 && (c.ready && len(c.outputs) != 1 || len(p.w) > 0) {
		return fmt.Errorf("ClassWeight needs a model with one output and data without sample weights; the model has %d outputs and the data %d weight arrays", len(c.outputs), len(p.w))
	}
	switch other := !train && !c.testFits(p); {
	case c.train != nil && other && c.testStep != nil:
		m.otherTest(p)
	case c.train == nil || other || train && !c.fits(p) || !maps.Equal(c.classWeight, classWeight):
		c.close()
		c.classWeight = maps.Clone(classWeight)
		m.functions(len(p.x), len(p.y))
		for _, step := range []*customStep{c.trainStep, c.testStep} {
			if step != nil {
				step.explored = false
			}
		}
	}
	if err := c.check(p, train); err != nil {
		return err
	}
	return m.explore(own, p)
}

// fits reports whether a batch has the arrays that the training function was made for.
func (c *compiled) fits(p *parts) bool { return len(p.x) == c.inputs && len(p.y) == c.targets }

// testFits reports whether a batch has the arrays that the test function was made for.
func (c *compiled) testFits(p *parts) bool {
	return len(p.x) == c.testInputs && len(p.y) == c.testTargets
}

// check compares a batch with the one that a function was made for.
func (c *compiled) check(p *parts, train bool) error {
	fits, inputs, targets := c.testFits(p), c.testInputs, c.testTargets
	if train {
		fits, inputs, targets = c.fits(p), c.inputs, c.targets
	}
	if !fits {
		return fmt.Errorf("the batch has %d inputs and %d targets, where there were %d and %d before; all batches, also those for validation unless there is a TestStep, need the same", len(p.x), len(p.y), inputs, targets)
	}
	if len(p.w) > 1 && len(p.w) != len(p.y) {
		return fmt.Errorf("the data have %d arrays of sample weights; expected one, or one for each of the %d targets", len(p.w), len(p.y))
	}
	return nil
}

// trainOn runs the training step of a loaded instance. Predict waits during the step.
//
// If an execution has several steps, the last one launches all.
func (m *Model) trainOn(ctx context.Context, inst *distribute.Instance, of int) error {
	m.values.Lock()
	defer m.values.Unlock()
	m.measured.Add(1)
	run := inst.Launch
	if of > 1 && inst.Loops() {
		run = func(ctx context.Context, seed uint64, step uint32) error { return inst.Stage(ctx, seed, step, of) }
	}
	if len(m.rowInputs()) > 0 { // whose gradients are needed at once
		run = inst.Run
	}
	if err := run(ctx, m.seed, m.steps); err != nil {
		return m.undo(err)
	}
	m.steps++
	return nil
}

// undo corrects the step count if the host was ahead of the devices when a step failed: the failed step and those after
// it changed nothing.
func (m *Model) undo(err error) error {
	if err == nil {
		return nil // before late is allocated
	}
	var late *distribute.LateError
	if errors.As(err, &late) {
		m.steps -= uint32(late.Undone)
	}
	return err
}

// settle waits for the steps that are still running on devices.
func (m *Model) settle() error {
	c := m.compiled
	if c == nil || c.train == nil {
		return nil
	}
	return errors.Join(m.undo(c.train.Wait()), c.test.Wait())
}

// Predictions and evaluations draw their random numbers from these besides the seed, so the numbers differ from those
// of training.
const (
	predictionSeed = 0x9e3779b97f4a7c15
	evaluationSeed = 0xd1342543de82ef95
)

// predictOn runs a prediction, and then read, which reads its results. The random numbers of each batch depend on the
// seed and on the number of batches predicted before.
func (m *Model) predictOn(ctx context.Context, inst *distribute.Instance, read func() error) error {
	return m.infer(inst, func() error {
		return inst.RunThen(ctx, m.seed^predictionSeed, m.predicted.Add(1)-1, read)
	})
}

// testOn runs an evaluation. Its results stay in the state of the metrics, so nothing waits for it. The random numbers
// of each batch depend on the seed, the number of training steps so far, and the number of batches evaluated since. So
// a run that continues after an interruption draws the same numbers.
func (m *Model) testOn(ctx context.Context, inst *distribute.Instance) error {
	if m.testedAt != m.steps {
		m.testedAt, m.tested = m.steps, 0
	}
	m.tested++
	return m.infer(inst, func() error {
		return inst.Launch(ctx, m.seed^evaluationSeed*(uint64(m.steps)+1), m.tested-1)
	})
}

// infer runs an instance that does not train. If it changes variables (metrics, the state of stateful layers), it runs
// alone.
func (m *Model) infer(inst *distribute.Instance, run func() error) error {
	if inst.WritesVariables() {
		m.values.Lock()
		defer m.values.Unlock()
	} else {
		m.values.RLock()
		defer m.values.RUnlock()
	}
	return run()
}

// resetMetrics resets all metrics.
func (m *Model) resetMetrics() error { return m.resetAll(m.compiled.allMetrics()) }

func (m *Model) resetAll(list []*namedMetric) error {
	m.measured.Add(1)
	for _, metric := range list {
		if err := metrics.Reset(metric.metric); err != nil {
			return err
		}
	}
	return nil
}
