package keras

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// CompileConfig says how a model is trained. Names and values are resolved as Keras does; for a model with several outputs,
// losses, weights and metrics are given as a list in the order of the outputs or as a map by output name.
type CompileConfig struct {
	// Optimizer is a name ("adam") or an optimizer; nil is "rmsprop".
	Optimizer any
	// Loss is a name ("mse"), a losses.Loss, a []any or map[string]any of these (nil entries leave an output out), or nil.
	Loss any
	// LossWeights multiply the losses of the outputs: []float64 or map[string]float64; nil is 1 for each.
	LossWeights any
	// Metrics are shown but not trained on; they ignore sample weights. []metrics.Metric, []string, []any, or for several
	// outputs a [][]any or map[string]any. "accuracy" picks the kind that fits the shapes.
	Metrics any
	// WeightedMetrics are metrics that use sample and class weights.
	WeightedMetrics any
	// StepsPerExecution is the number of batches run between two rounds of batch callbacks; 0 is 1.
	StepsPerExecution int
}

// compiled is what Compile makes of a CompileConfig.
type compiled struct {
	config    CompileConfig
	optimizer optimizers.Optimizer
	trainable distribute.Variables

	outputs     []*outputLoss // one for each output, once the outputs are known
	lossTracker *metrics.Mean
	metrics     []*namedMetric
	ready       bool // losses and metrics are resolved and have their variables

	train, test, results *distribute.Function
	weighted             int // sample weight arrays in a batch: 0, 1 or one for each output
	classWeight          map[int]float64
}

type outputLoss struct {
	name    string
	loss    losses.Loss // nil: the output is not trained
	weight  float64
	tracker *metrics.Mean // nil where the total says the same
}

type namedMetric struct {
	name     string
	output   int
	metric   metrics.Metric
	weighted bool
}

// Compile sets optimizer, loss and metrics. It can be called again; optimizer state starts anew then.
func (m *Model) Compile(config CompileConfig) error {
	if config.StepsPerExecution < 0 {
		return fmt.Errorf("keras: Compile: StepsPerExecution is %d; expected 1 or more", config.StepsPerExecution)
	}
	config.StepsPerExecution = max(config.StepsPerExecution, 1)
	if config.Optimizer == nil {
		config.Optimizer = "rmsprop"
	}
	optimizer, err := optimizers.Get(config.Optimizer)
	if err != nil {
		return fmt.Errorf("keras: Compile: %w", err)
	}
	if m.policy.Name == "mixed_float16" {
		optimizer = optimizers.WithLossScale(optimizer)
	}
	c := &compiled{config: config, optimizer: optimizer}
	if err := c.checkNames(); err != nil {
		return fmt.Errorf("keras: Compile: %w", err)
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
			return err
		})
	}
	walkMetric = func(v any) error {
		return each(v, func(v any) error {
			if v == nil || isAccuracy(v) {
				return nil
			}
			_, err := metrics.Get(v)
			return err
		})
	}
	for _, check := range []error{walkLoss(c.config.Loss), walkMetric(c.config.Metrics), walkMetric(c.config.WeightedMetrics)} {
		if check != nil {
			return check
		}
	}
	return nil
}

func isAccuracy(v any) bool {
	return slices.Contains([]any{"accuracy", "acc", "crossentropy", "ce"}, v)
}

// each calls f for the leaves of nested lists and maps.
func each(v any, f func(any) error) error {
	list, ok := asList(v)
	if m, isMap := v.(map[string]any); isMap {
		for _, e := range m {
			list = append(list, e)
		}
		ok = true
	}
	if !ok {
		return f(v)
	}
	for _, e := range list {
		if err := each(e, f); err != nil {
			return err
		}
	}
	return nil
}

// asList turns the slice types that the config allows into a list.
func asList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		return convertList(v), true
	case []metrics.Metric:
		return convertList(v), true
	case []losses.Loss:
		return convertList(v), true
	case []float64:
		return convertList(v), true
	case [][]any:
		return convertList(v), true
	case [][]string:
		return convertList(v), true
	case [][]metrics.Metric:
		return convertList(v), true
	}
	return nil, false
}

func convertList[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

// asMap turns the map types that the config allows into a map.
func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case map[string]string:
		return convertMap(v), true
	case map[string]float64:
		return convertMap(v), true
	case map[string]losses.Loss:
		return convertMap(v), true
	case map[string][]metrics.Metric:
		return convertMap(v), true
	case map[string][]string:
		return convertMap(v), true
	}
	return nil, false
}

func convertMap[T any](in map[string]T) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

// perOutput spreads a value of the config over the outputs. A single value goes to all outputs where shared is set.
func perOutput(what string, v any, names []string, n int, shared bool) ([]any, error) {
	out := make([]any, n)
	if v == nil {
		return out, nil
	}
	if m, ok := asMap(v); ok {
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			i := slices.Index(names, k)
			if i < 0 {
				return nil, fmt.Errorf("%s: there is no output %q; the outputs are %q", what, k, names)
			}
			out[i] = m[k]
		}
		return out, nil
	}
	list, ok := asList(v)
	if ok && (n > 1 || !shared) {
		if len(list) != n {
			return nil, fmt.Errorf("%s: the model has %d outputs, received a list of %d", what, n, len(list))
		}
		copy(out, list)
		return out, nil
	}
	for i := range out {
		out[i] = v
	}
	return out, nil
}

// prepare resolves losses and metrics once the types of outputs and targets are known, and builds the optimizer.
func (m *Model) prepare(targets []ir.Type) error {
	c := m.compiled
	if c.ready {
		return nil
	}
	n := len(m.outputTypes)
	names := m.OutputNames()
	if len(names) != n {
		names = make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("output_%d", i)
		}
		if n == 1 {
			names[0] = "output"
		}
	}
	if err := c.resolveLosses(names, targets, m.outputTypes); err != nil {
		return err
	}
	if err := c.resolveMetrics(names, targets, m.outputTypes); err != nil {
		return err
	}
	if err := c.buildMetrics(m, targets); err != nil {
		return err
	}
	c.ready = true
	return nil
}

// prepareOptimizer makes the optimizer's variables. What is trained is fixed here, at the first training step after Compile.
func (m *Model) prepareOptimizer() error {
	c := m.compiled
	if c.trainable != nil {
		return nil
	}
	trainable := m.TrainableVariables()
	if err := c.optimizer.Build(trainable); err != nil {
		return err
	}
	if err := m.placeAll(c.optimizer.Variables()); err != nil {
		return err
	}
	c.trainable = trainable
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

func (c *compiled) resolveLosses(names []string, targets, outputs []ir.Type) error {
	specs, err := perOutput("Loss", c.config.Loss, names, len(outputs), true)
	if err != nil {
		return err
	}
	weights, err := perOutput("LossWeights", c.config.LossWeights, names, len(outputs), true)
	if err != nil {
		return err
	}
	trained := 0
	c.outputs = nil
	for i, spec := range specs {
		o := &outputLoss{name: names[i], weight: 1}
		c.outputs = append(c.outputs, o)
		if w, ok := weights[i].(float64); ok {
			o.weight = w
		} else if weights[i] != nil {
			return fmt.Errorf("LossWeights: the weight of output %q is %v of type %T; expected a float64", names[i], weights[i], weights[i])
		}
		if list, ok := asList(spec); ok && len(list) == 1 {
			spec = list[0]
		}
		if spec == nil {
			continue
		}
		trained++
		if o.loss, err = losses.Resolve(spec, target(targets, i), outputs[i].Shape); err != nil {
			return err
		}
	}
	c.lossTracker = metrics.NewMean("loss")
	for _, o := range c.outputs {
		if trained > 1 && o.loss != nil {
			o.tracker = metrics.NewMean(o.name + "_loss")
		}
	}
	return nil
}

// target returns the shape of the targets of output i, nil where there are none.
func target(targets []ir.Type, i int) ir.Shape {
	if i < len(targets) {
		return targets[i].Shape
	}
	return nil
}

func (c *compiled) resolveMetrics(names []string, targets, outputs []ir.Type) error {
	c.metrics = nil
	taken := map[string]bool{"loss": true}
	for _, o := range c.outputs {
		if o.tracker != nil {
			taken[o.tracker.MetricName()] = true
		}
	}
	for _, group := range []struct {
		what     string
		spec     any
		weighted bool
	}{{"Metrics", c.config.Metrics, false}, {"WeightedMetrics", c.config.WeightedMetrics, true}} {
		specs, err := perOutput(group.what, c.metricLists(group.spec, len(outputs)), names, len(outputs), true)
		if err != nil {
			return err
		}
		for i, spec := range specs {
			list, ok := asList(spec)
			if !ok && spec != nil {
				list = []any{spec}
			}
			for _, s := range list {
				metric, err := metrics.Resolve(s, target(targets, i), outputs[i].Shape)
				if err != nil {
					return fmt.Errorf("%s: %w", group.what, err)
				}
				name := metric.MetricName()
				if len(outputs) > 1 {
					name = names[i] + "_" + name
				}
				name = uniqueName(name, taken, group.weighted)
				c.metrics = append(c.metrics, &namedMetric{name, i, metric, group.weighted})
			}
		}
	}
	return nil
}

// metricLists makes a flat list for a model with one output a list for that output.
func (c *compiled) metricLists(spec any, outputs int) any {
	list, ok := asList(spec)
	if !ok || outputs > 1 {
		return spec
	}
	if len(list) == 1 {
		if inner, nested := asList(list[0]); nested {
			list = inner
		}
	}
	return list
}

// uniqueName renames what collides as Keras does: a weighted metric gets a prefix, others a count.
func uniqueName(name string, taken map[string]bool, weighted bool) string {
	if taken[name] && weighted {
		name = "weighted_" + name
	}
	unique := name
	for i := 1; taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	taken[unique] = true
	return unique
}

// buildMetrics makes the state of all metrics and trackers.
func (c *compiled) buildMetrics(m *Model, targets []ir.Type) error {
	dtype := m.policy.Float()
	for _, metric := range c.allMetrics() {
		y, p := ir.Type{DType: dtype}, ir.Type{DType: dtype}
		if metric.output >= 0 {
			p = m.outputTypes[metric.output]
			if metric.output < len(targets) {
				y = targets[metric.output]
			}
		}
		if err := metric.metric.Build(dtype, y, p); err != nil {
			return fmt.Errorf("metric %q: %w", metric.name, err)
		}
		if err := m.placeAll(metric.metric.Variables()); err != nil {
			return err
		}
	}
	return nil
}

// allMetrics lists the trackers of losses (output -1) and the metrics, in the order of Keras's evaluate list.
func (c *compiled) allMetrics() []*namedMetric {
	all := []*namedMetric{{"loss", -1, c.lossTracker, false}}
	for _, o := range c.outputs {
		if o.tracker != nil {
			all = append(all, &namedMetric{o.tracker.MetricName(), -1, o.tracker, false})
		}
	}
	return append(all, c.metrics...)
}

func (c *compiled) close() {
	if c == nil {
		return
	}
	for _, f := range []*distribute.Function{c.train, c.test, c.results} {
		if f != nil {
			f.Close()
		}
	}
}

// errNotCompiled says what is missing for training.
func (m *Model) errNotCompiled(what string) error {
	return fmt.Errorf("keras: %s: model %q is not compiled; call Compile with an optimizer and a loss first", what, layers.Name(m))
}
