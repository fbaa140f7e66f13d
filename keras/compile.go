package keras

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// CompileConfig says how a model is trained. Names and values are resolved as Keras does; for a model with several
// outputs, losses, weights and metrics are given as a list in the order of the outputs or as a map by output name.
type CompileConfig struct {
	// Optimizer is a name ("adam") or an optimizer; nil is "rmsprop".
	Optimizer any
	// Loss is a name ("mse"), a losses.Loss, a []any or map[string]any of these (nil entries leave an output out), or
	// nil.
	Loss any
	// LossWeights multiply the losses of the outputs: []float64 or map[string]float64; nil is 1 for each.
	LossWeights any
	// Metrics are shown but not trained on; they ignore sample weights. []metrics.Metric, []string, []any, or for
	// several outputs a [][]any or map[string]any. "accuracy" picks the kind that fits the shapes.
	Metrics any
	// WeightedMetrics are metrics that use sample and class weights.
	WeightedMetrics any
	// StepsPerExecution is the number of batches run between two rounds of batch callbacks; 0 is 1.
	StepsPerExecution int
	// CheckNumerics makes Fit and Evaluate fail at the first step in which the result of a layer, the loss, or the
	// gradient of either or of a weight is NaN or infinite, with an [*ops.NotFiniteError] that names the layer and the
	// element. The failed step changes no variable. Use it to find where such numbers come from; it makes steps slower.
	// Gradients of scaled losses are sometimes infinite on purpose and are not checked. It is
	// tf.debugging.enable_check_numerics for one model. Files do not keep it.
	CheckNumerics bool
	// Remat, if it is not nil, lets training compute some layers twice, so that it needs less memory: what the gradient
	// reads of them is computed again in place of being kept. The numbers are the same. It is keras.RematScope for one
	// model; for a part of a layer see [ops.Remat]. Files do not keep it.
	Remat *RematScope
	// TrainStep replaces the default training step: see [Step]. nil is the method TrainStep of the value that NewModel
	// was given, if it has one. Files do not keep it.
	TrainStep StepFunc
	// TestStep does the same for Evaluate and validation; nil is the method TestStep of the value that NewModel was
	// given.
	TestStep StepFunc

	fromFile   bool // which may say of a model that only predicts what training would refuse
	jitCompile any  // of the file that the configuration was read from, for the one that is written; nil is "auto"
}

// compiled is what Compile makes of a CompileConfig.
type compiled struct {
	config    CompileConfig
	optimizer optimizers.Optimizer
	trainable distribute.Variables // nil until the optimizers have their variables
	frozen    map[any]bool         // the layers that were not trained then
	traced    map[any]bool         // and when the functions were made
	optimized []optimized          // what updates them, once they have

	trainStep, testStep *customStep // nil: Keras's own

	layerNames  []string      // of the layers that the outputs are results of, where some are of the same
	outputs     []*outputLoss // one for each output, once the outputs are known
	lossTracker *metrics.Mean
	metrics     []*namedMetric
	ready       bool // losses and metrics are resolved and have their variables

	train, test               *distribute.Function
	filling                   filling // of batches for test
	trainResults, testResults resultFunctions
	inputs, targets           int // arrays in a batch that the functions were made for
	testInputs, testTargets   int // and those of test, which differ only where the test step is the user's
	classWeight               map[int]float64

	batches [2]*batchRun // of TestOnBatch and TrainOnBatch

	stale bool // the optimizer was made before layers changed

	elsewhere atomic.Bool // a step uses weights of other models
	revision  uint64      // layers.Revision when steps were last looked at

	serverCall int  // number of the first call of Fit, which names the weights on parameter servers; 0: none
	onServers  bool // the weights have been put there
}

type outputLoss struct {
	name    string
	loss    losses.Loss // nil: the output is not trained
	weight  float64
	target  int           // position of its targets in a batch, -1 without
	tracker *metrics.Mean // nil where the total says the same
}

type namedMetric struct {
	name     string
	output   int
	metric   metrics.Metric
	weighted bool
	tracker  bool // a running mean of what a user-defined step returned
}

// Compile sets optimizer, loss and metrics. It can be called again; the state of an optimizer given by name is reset
// then. It is an error while the model trains.
func (m *Model) Compile(config CompileConfig) error {
	if !m.training.TryLock() {
		return fmt.Errorf("keras: Compile: model %q is training or evaluating; wait for it to end", m.Name())
	}
	defer m.training.Unlock()
	if config.StepsPerExecution < 0 {
		return fmt.Errorf("keras: Compile: StepsPerExecution is %d; expected 1 or more", config.StepsPerExecution)
	}
	if err := m.checkRemat(config.Remat); err != nil {
		return prefixed("Compile", err)
	}
	config.StepsPerExecution = max(config.StepsPerExecution, 1)
	if config.Optimizer == nil {
		config.Optimizer = "rmsprop"
	}
	optimizer, err := optimizers.Get(config.Optimizer)
	if err != nil {
		return prefixed("Compile", pointerHint[optimizers.Optimizer](config.Optimizer, err))
	}
	if m.policy.Name == "mixed_float16" {
		optimizer = optimizers.WithLossScale(optimizer)
	}
	c := &compiled{config: config, optimizer: optimizer}
	c.trainStep, c.testStep = m.customSteps(config)
	if f, ok := m.topology.(*functional); ok {
		c.layerNames = f.layerNames
	}
	err = c.checkNames()
	if err == nil {
		err = m.checkOutputNames(c)
	}
	if err != nil {
		return prefixed("Compile", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compiled.close()
	m.compiled = c
	return nil
}

// checkNames resolves what needs no shapes, so that a typing mistake is found at once.
func (c *compiled) checkNames() error {
	var walkLoss, walkMetric func(v any) error
	walkLoss = func(v any) error {
		return each(v, func(v any) error {
			if v == nil || v == "crossentropy" || v == "ce" {
				return nil
			}
			_, err := losses.Get(v)
			return pointerHint[losses.Loss](v, err)
		})
	}
	walkMetric = func(v any) error {
		return each(v, func(v any) error {
			if v == nil || isAccuracy(v) {
				return nil
			}
			_, err := metrics.Get(metricOf(v))
			return pointerHint[metrics.Metric](v, err)
		})
	}
	for _, check := range []error{walkLoss(c.config.Loss), walkMetric(c.config.Metrics), walkMetric(c.config.WeightedMetrics)} {
		if check != nil {
			return check
		}
	}
	return nil
}

// checkOutputNames spreads what is given for each output, where the outputs are known before the model runs.
func (m *Model) checkOutputNames(c *compiled) error {
	f, known := m.topology.(*functional)
	if !known || f.out.nested != nil || c.config.fromFile || c.trainStep != nil {
		return nil
	}
	if _, err := c.lossSpecs(f.names, len(f.names), m.hasDictOutputs()); err != nil {
		return err
	}
	weights, err := c.perOutput("LossWeights", c.config.LossWeights, f.names, len(f.names), true)
	for i := 0; err == nil && i < len(weights); i++ {
		if _, wrong := lossWeight(weights[i]); wrong != nil {
			err = fmt.Errorf("LossWeights: output %q: %w", f.names[i], wrong)
		}
	}
	if err == nil {
		_, err = c.perOutput("Metrics", c.metricLists(c.config.Metrics, len(f.names)), f.names, len(f.names), true)
	}
	if err == nil {
		_, err = c.perOutput("WeightedMetrics", c.metricLists(c.config.WeightedMetrics, len(f.names)), f.names, len(f.names), true)
	}
	return err
}

// pointerHint replaces the error for a struct of which a pointer would have served.
func pointerHint[T any](v any, err error) error {
	if t := reflect.TypeOf(v); err != nil && t != nil && t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[T]()) {
		return fmt.Errorf("received %s; pass a pointer, as in &%v{}", config.A(t.String()), t)
	}
	return err
}

func isAccuracy(v any) bool {
	return slices.Contains([]any{"accuracy", "acc", "crossentropy", "ce"}, v)
}

// prepare resolves losses and metrics once the types of outputs and targets are known.
func (m *Model) prepare(targets, outputs []ir.Type) error {
	c := m.compiled
	if c.ready {
		return nil
	}
	n := len(outputs)
	names := m.OutputNames()
	named := len(names) == n
	if !named {
		names = make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("output_%d", i)
		}
	}
	if err := c.resolveLosses(names, named, m.hasDictOutputs(), targets, outputs); err != nil {
		return err
	}
	if err := c.resolveMetrics(names, named, targets, outputs); err != nil {
		return err
	}
	if err := c.buildMetrics(m, targets, outputs); err != nil {
		return err
	}
	c.ready = true
	return nil
}

func (m *Model) placeAll(vars distribute.Variables) error {
	for _, v := range vars {
		if err := v.Place(m.strategy, m.seed); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiled) close() {
	if c == nil {
		return
	}
	c.closeBatches()
	for _, f := range []*distribute.Function{c.train, c.test, c.trainResults.all, c.trainResults.own, c.testResults.all, c.testResults.own} {
		if f != nil {
			f.Close()
		}
	}
}

// errNotCompiled says what is missing for training.
func (m *Model) errNotCompiled(what string) error {
	return fmt.Errorf("keras: %s: model %q is not compiled; call Compile with an optimizer and a loss first", what, layers.Name(m))
}
