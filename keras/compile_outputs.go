package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

// resolveLosses creates the loss of each output. named says whether the names are the model's own: losses of outputs
// without names are reported under the losses' names, as in Keras. dict says whether the outputs are a dict, in which
// some may have no loss.
func (c *compiled) resolveLosses(names []string, named, dict bool, targets, outputs []ir.Type) error {
	specs, err := c.lossSpecs(names, len(outputs), dict)
	if err != nil {
		return err
	}
	places, err := placeTargets(specs, names, len(targets))
	if err != nil {
		return err
	}
	weights, err := c.perOutput("LossWeights", c.config.LossWeights, names, len(outputs), true)
	if err != nil {
		return err
	}
	trained := 0
	c.outputs = nil
	for i, spec := range specs {
		o := &outputLoss{name: names[i], target: places[i]}
		c.outputs = append(c.outputs, o)
		if o.weight, err = lossWeight(weights[i]); err != nil {
			return fmt.Errorf("LossWeights: output %q: %w", names[i], err)
		}
		if spec == nil {
			continue
		}
		trained++
		if o.loss, err = losses.Resolve(spec, shapeOf(targets, o.target), outputs[i].Shape); err != nil {
			return err
		}
	}
	c.lossTracker = metrics.NewMean("loss")
	taken := map[string]bool{"loss": true}
	reported := slices.Clone(names)
	if c.nest != nil {
		nestPaths(c.nest, nil, reported)
	}
	for i, o := range c.outputs {
		if trained < 2 || o.loss == nil {
			continue
		}
		name := reported[i]
		if !named {
			name = o.loss.LossName()
		}
		o.tracker = metrics.NewMean(uniqueName(name+"_loss", taken))
	}
	return nil
}

// lossSpecs assigns Loss to the outputs.
func (c *compiled) lossSpecs(names []string, n int, dict bool) ([]any, error) {
	if m, ok := c.byOutput(c.config.Loss, names); ok && !dict {
		for _, name := range names {
			if _, given := m[name]; !given && n > 1 && !hasOther(m, names) {
				return nil, fmt.Errorf("Loss: the map has no entry for output %q; give every output of %q a loss, or nil to leave it out", name, names)
			}
		}
	}
	specs, err := c.perOutput("Loss", c.config.Loss, names, n, true)
	if err != nil {
		return nil, err
	}
	for i, spec := range specs {
		if list, ok := asList(spec); ok {
			if len(list) != 1 {
				return nil, fmt.Errorf("Loss: received a list of %d losses for output %q; expected one (the model has %d outputs)", len(list), names[i], n)
			}
			specs[i] = list[0]
		}
	}
	return specs, nil
}

// hasOther reports whether a map has a key that is not among the names.
func hasOther(m map[string]any, names []string) bool {
	for key := range m {
		if !slices.Contains(names, key) {
			return true
		}
	}
	return false
}

// placeTargets finds the index of each output's targets in a batch, -1 for none. A batch has targets either for every
// output or for those with a loss, in their order.
func placeTargets(specs []any, names []string, targets int) ([]int, error) {
	places := make([]int, len(specs))
	var trained []string
	for i, spec := range specs {
		places[i] = -1
		if spec != nil {
			places[i] = len(trained)
			trained = append(trained, names[i])
		}
		if targets == len(specs) {
			places[i] = i
		}
	}
	switch {
	case targets == len(specs) || targets == len(trained):
		return places, nil
	case targets == 0:
		return nil, fmt.Errorf("the data have no targets, and the losses of the outputs %q need them; pass them as in data.Arrays(x, y)", trained)
	}
	return nil, fmt.Errorf("the data have %d targets; expected one for each of the outputs %q, or for those with a loss, %q", targets, names, trained)
}

// lossWeight reads the weight of a loss; nil is 1.
func lossWeight(v any) (float64, error) {
	if list, ok := asList(v); ok && len(list) == 1 {
		v = list[0]
	}
	switch v := v.(type) {
	case nil:
		return 1, nil
	case float64:
		return v, nil
	case float32:
		return float64(v), nil
	case int:
		return float64(v), nil
	case map[string]any, []any, config.Object: // from a file
		return 0, fmt.Errorf("received %s; expected one number", config.Received(v))
	}
	return 0, fmt.Errorf("received %v of type %T; expected one number", v, v)
}

// shapeOf returns the shape of the targets at the given index, or nil.
func shapeOf(targets []ir.Type, place int) ir.Shape {
	if place < 0 || place >= len(targets) {
		return nil
	}
	return targets[place].Shape
}

func (c *compiled) resolveMetrics(names []string, named bool, targets, outputs []ir.Type) error {
	c.metrics = nil
	taken := map[string]bool{}
	for _, m := range c.compiledMetrics() {
		taken[m.name] = true
	}
	used := map[metrics.Metric]bool{}
	for _, group := range []struct {
		what     string
		spec     any
		weighted bool
	}{{"Metrics", c.config.Metrics, false}, {"WeightedMetrics", c.config.WeightedMetrics, true}} {
		specs, err := c.perOutput(group.what, c.metricLists(group.spec, len(outputs)), names, len(outputs), true)
		if err != nil {
			return err
		}
		for i, spec := range specs {
			list, ok := asList(spec)
			if !ok && spec != nil {
				list = []any{spec}
			}
			if len(list) > 0 && len(targets) == 0 {
				return fmt.Errorf("%s: the data have no targets to compare output %q with; pass them as in data.Arrays(x, y)", group.what, names[i])
			}
			for place, s := range list {
				if s == nil {
					return fmt.Errorf("%s: metric %d of output %q is nil; give a name or a metric, or leave it out", group.what, place, names[i])
				}
				metric, err := metrics.Resolve(metricOf(s), shapeOf(targets, c.outputs[i].target), outputs[i].Shape)
				if err != nil {
					return fmt.Errorf("%s: %w", group.what, err)
				}
				if used[metric] {
					return fmt.Errorf("%s: the same %T is given twice; each place needs a metric of its own", group.what, metric)
				}
				used[metric] = true
				prefix := ""
				if len(outputs) > 1 && named {
					prefix = names[i] + "_"
				}
				c.metrics = append(c.metrics, &namedMetric{metricName(prefix, metric.MetricName(), taken, group.weighted), i, metric, group.weighted, false})
			}
		}
	}
	return nil
}

// metricName renames duplicates as Keras does: a weighted metric gets a prefix, others get a number.
func metricName(prefix, name string, taken map[string]bool, weighted bool) string {
	if weighted && taken[prefix+name] {
		name = "weighted_" + name
	}
	return uniqueName(prefix+name, taken)
}

// metricLists wraps a flat list for a model with one output in a list. An empty list means no metrics for any output.
func (c *compiled) metricLists(spec any, outputs int) any {
	list, ok := asList(spec)
	if ok && len(list) == 0 {
		return nil
	}
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

// uniqueName adds a number to a name that is taken.
func uniqueName(name string, taken map[string]bool) string {
	unique := name
	for i := 1; taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	taken[unique] = true
	return unique
}

// buildMetrics creates the state of all metrics and trackers.
func (c *compiled) buildMetrics(m *Model, targets, outputs []ir.Type) error {
	dtype := m.policy.Float()
	for _, metric := range c.compiledMetrics() {
		y, p := ir.Type{DType: dtype}, ir.Type{DType: dtype}
		if metric.output >= 0 {
			p = outputs[metric.output]
			if place := c.outputs[metric.output].target; place >= 0 {
				y = targets[place]
			}
		}
		if err := metric.metric.Build(dtype, y, p); err != nil {
			return naming(fmt.Sprintf("metric %q: ", metric.name), err)
		}
		if err := m.placeAll(metric.metric.Variables()); err != nil {
			return err
		}
	}
	return nil
}

// naming puts a prefix before an error that does not have it yet.
func naming(prefix string, err error) error {
	if strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return fmt.Errorf("%s%w", prefix, err)
}

// compiledMetrics lists the trackers of losses (output -1) and the metrics, in the order of Keras's evaluate list. It
// returns nil before they are resolved.
func (c *compiled) compiledMetrics() []*namedMetric {
	if c.lossTracker == nil {
		return nil
	}
	all := []*namedMetric{{name: "loss", output: -1, metric: c.lossTracker}}
	for _, o := range c.outputs {
		if o.tracker != nil {
			all = append(all, &namedMetric{name: o.tracker.MetricName(), output: -1, metric: o.tracker})
		}
	}
	return append(all, c.metrics...)
}
