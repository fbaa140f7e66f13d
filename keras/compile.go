package keras

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// CompileConfig says how a model is trained. Names and values are resolved as in Keras. For a model with several
// outputs, losses, weights and metrics are a list in the order of the outputs, or a map by output name. Where a model's
// outputs are lists and dicts inside of each other, as a file of Keras may have them, they may also be such lists and
// maps.
type CompileConfig struct {
	// Optimizer is a name ("adam") or an optimizer; nil is "rmsprop".
	Optimizer any
	// Loss is a name ("mse"), a losses.Loss, a []any or map[string]any of these (nil entries leave an output out), or
	// nil.
	Loss any
	// LossWeights multiply the losses of the outputs: []float64 or map[string]float64; nil is 1 for each.
	LossWeights any
	// Metrics are reported but not trained on; they ignore sample weights. Give []metrics.Metric, []string, []any, or
	// for several outputs a [][]any or map[string]any. "accuracy" selects the kind of accuracy that fits the shapes.
	Metrics any
	// WeightedMetrics are metrics that use sample and class weights.
	WeightedMetrics any
	// StepsPerExecution is the number of batches run between two rounds of batch callbacks; 0 is 1.
	StepsPerExecution int
	// CheckNumerics makes Fit and Evaluate fail at the first step in which a layer's result, the loss, a weight's
	// gradient, or the gradient of a result or loss is NaN or infinite. The error is an [*ops.NotFiniteError], which
	// names the layer and the element. The failed step changes no variable. Use it to find where such numbers come
	// from; it makes steps slower. Gradients of scaled losses are sometimes infinite on purpose and are not checked. It
	// is tf.debugging.enable_check_numerics for one model. It is not saved in files.
	CheckNumerics bool
	// Remat, if not nil, reduces the memory that training needs: some layers are computed twice, so that the values
	// which their gradients read need not be kept. The numbers are the same. It is keras.RematScope for one model; for
	// a part of a layer see [ops.Remat]. It is not saved in files.
	Remat *RematScope
	// TrainStep replaces the default training step; see [Step]. If nil, the method TrainStep of the value given to
	// NewModel is used, if it has one. It is not saved in files.
	TrainStep StepFunc
	// TestStep does the same for Evaluate and validation; if nil, the method TestStep of the value given to NewModel is
	// used.
	TestStep StepFunc

	fromFile   bool // a file may hold, for a model that only predicts, a configuration that training would refuse
	jitCompile any  // from the file that the configuration was read from, to be written again; nil is "auto"
}

// compiled is what Compile makes of a CompileConfig.
type compiled struct {
	config    CompileConfig
	optimizer optimizers.Optimizer
	trainable distribute.Variables // nil until the optimizers have created their variables
	frozen    map[any]bool         // the layers that were frozen then
	traced    map[any]bool         // the layers that were frozen when the functions were made
	optimized []optimized          // the optimizers and what each updates, once they have variables

	trainStep, testStep *customStep // nil: Keras's own

	layerNames  []string      // names of the layers that compute the outputs, if some outputs share a name
	nest        any           // the lists and dicts of the outputs, if they are in each other: see [Tensors]
	outputs     []*outputLoss // one per output, once the outputs are known
	lossTracker *metrics.Mean
	metrics     []*namedMetric
	ready       bool // losses and metrics are resolved and have their variables

	train, test               *distribute.Function
	filling                   filling // of test batches
	trainResults, testResults resultFunctions
	inputs, targets           int // number of arrays in a batch that the functions were made for
	testInputs, testTargets   int // number in test batches, which differs only if the test step is the user's
	classWeight               map[int]float64

	batches [2]*batchRun // of TestOnBatch and TrainOnBatch

	stale bool // the optimizer was made before layers changed

	elsewhere atomic.Bool // a step uses weights of other models
	revision  uint64      // layers.Revision when the steps were last checked

	serverCall int  // number of the first call of Fit, which names the weights on parameter servers; 0: none
	onServers  bool // the weights have been stored there
}

type outputLoss struct {
	name    string
	loss    losses.Loss // nil: the output is not trained
	weight  float64
	target  int           // index of its targets in a batch, -1 if none
	tracker *metrics.Mean // nil if the total loss says the same
}

type namedMetric struct {
	name     string
	output   int
	metric   metrics.Metric
	weighted bool
	tracker  bool // a running mean of what a user-defined step returned
}

// Compile sets the optimizer, loss and metrics. It can be called again, which resets the state of an optimizer given by
// name. It is an error while the model trains.
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
		c.layerNames, c.nest = f.layerNames, f.out.nested
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

// checkNames resolves what needs no shapes, so that a typing mistake is reported at once.
func (c *compiled) checkNames() error {
	var walkLoss, walkMetric func(v any) error
	walkLoss = func(v any) error {
		return each(v, func(v any) error {
			if v == nil || isWord(v, "crossentropy", "ce") || c.isLeft(v) {
				return nil
			}
			_, err := losses.Get(v)
			return pointerHint[losses.Loss](v, err)
		})
	}
	walkMetric = func(v any) error {
		return each(v, func(v any) error {
			if v == nil || isWord(v, "accuracy", "acc", "crossentropy", "ce") || c.isLeft(v) {
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

// isLeft reports whether v is a name in a file. As in Keras, only training and evaluating look up what it names.
func (c *compiled) isLeft(v any) bool {
	_, word := v.(string)
	return word && c.config.fromFile
}

// checkOutputNames assigns what is given per output, if the outputs are known before the model runs.
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

// pointerHint replaces the error for a struct if a pointer to it would have been valid.
func pointerHint[T any](v any, err error) error {
	if t := reflect.TypeOf(v); err != nil && t != nil && t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[T]()) {
		return fmt.Errorf("received %s; pass a pointer, as in &%v{}", config.A(t.String()), t)
	}
	return err
}

// isWord reports whether v is one of the words that the shapes give a meaning, in any case of letters, as in Keras.
func isWord(v any, words ...string) bool {
	s, ok := v.(string)
	return ok && slices.Contains(words, strings.ToLower(s))
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

// errNotCompiled is the error for a model without what training needs.
func (m *Model) errNotCompiled(what string) error {
	return fmt.Errorf("keras: %s: model %q is not compiled; call Compile with an optimizer and a loss first", what, layers.Name(m))
}
