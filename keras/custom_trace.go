package keras

import (
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// runStep traces a user-defined step, and the updates that track its logs.
func (m *Model) runStep(r *distribute.Replica, step *customStep, x, y, w []*ops.Tensor) *Step {
	return m.trace(&Step{Replica: r, X: x, Y: y, SampleWeight: w, m: m, step: step})
}

// trace calls the user's function.
func (m *Model) trace(s *Step) *Step {
	r, step := s.Replica, s.step
	var logs StepLogs
	guard(r, step.name, func() { logs = step.call(s) })
	if !step.explored {
		step.list(r, logs)
	}
	step.track(r, logs)
	var state distribute.Variables
	for _, o := range s.applied {
		state = append(state, o.optimizer.Variables()...)
	}
	other := "nor another model's that is built under the same strategy, "
	if s.servers == nil && distribute.WorkersOf(m.strategy) == nil {
		state = append(state, m.elsewhere(r, state)...)
	} else { // other processes would have to be told about them
		other = ""
	}
	m.checkOwn(r, state, "the "+step.name+" of model %q uses the variable %s, which is neither the model's, "+other+"nor that of an optimizer that the step applies; hold its layer in an exported "+
		"field, made before the model is, and apply optimizers with Minimize or Apply of the Step")
	return s
}

// elsewhere lists the weights in a trace that belong to another, built model under the same strategy.
func (m *Model) elsewhere(r *distribute.Replica, own distribute.Variables) (out distribute.Variables) {
	own = slices.Concat(m.Weights(), own)
	for _, v := range r.Variables() {
		if v.Strategy() == m.strategy && v.Spec().Synchronization != distribute.OnRead && !slices.Contains(own, v) {
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		m.compiled.elsewhere.Store(true)
	}
	return out
}

// guard calls a user's function. A panic in it is the user's mistake, not ours, and becomes an error with the place
// where it happened.
func guard(t ops.Traced, name string, f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ops.Error:
			panic(r)
		default:
			ops.Fail(t.Graph(), &PanicError{Method: name, Value: r, Stack: debug.Stack()})
		}
	}()
	f()
}

// list records what a step reports.
func (c *customStep) list(r *distribute.Replica, logs StepLogs) {
	g := r.Graph()
	if len(logs) == 0 {
		ops.Failf(g, "%s returned no logs; return at least one number by name, as in keras.StepLogs{\"loss\": loss}: Fit reports them and callbacks watch them", c.name)
	}
	c.logs = nil
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		if strings.TrimSpace(name) == "" || strings.HasPrefix(name, "val_") {
			ops.Failf(g, "%s returned a log of the name %q; give it a name, without \"val_\", which Fit puts before those of validation", c.name, name)
		}
		log := &namedMetric{name: name, output: -1}
		switch v := logs[name].(type) {
		case metrics.Metric:
			if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
				ops.Failf(g, "%s: the log %q is a nil %T; make the metric before the model is trained", c.name, name, v)
			}
			if len(v.Variables()) == 0 {
				ops.Failf(g, "%s: the metric of the log %q has not been updated; call its Update or UpdateValues in the step", c.name, name)
			}
			log.metric = v
		case *ops.Tensor:
			log.metric = metrics.NewMean(name)
			log.tracker = true
		default:
			ops.Failf(g, "%s: the log %q is a %T; expected a scalar *ops.Tensor or a metrics.Metric", c.name, name, v)
		}
		c.logs = append(c.logs, log)
	}
}

// track adds the tensors among the logs to their running means.
func (c *customStep) track(r *distribute.Replica, logs StepLogs) {
	g := r.Graph()
	for _, log := range c.logs {
		part, isTensor := logs[log.name].(*ops.Tensor)
		if len(logs) != len(c.logs) || isTensor != log.tracker || !isTensor && logs[log.name] != any(log.metric) {
			ops.Failf(g, "%s returned the logs %q and, for a batch of another shape, %q; it must report the same for all, with the same metrics", c.name, c.names(), slices.Sorted(maps.Keys(logs)))
		}
		if !isTensor {
			continue
		}
		if part == nil || part.Rank() != 0 {
			ops.Failf(g, "%s: the log %q must be a scalar, received %s; reduce it with Step.Mean, or use a metric", c.name, log.name, typeOf(part))
		}
		tracker := log.metric.(*metrics.Mean)
		t := ir.Type{DType: ir.Float32}
		if part.DType() == ir.Float64 {
			t.DType = ir.Float64
		}
		if err := tracker.Build(t.DType, t, t); err != nil {
			ops.Fail(g, err)
		}
		trackLoss(r, tracker, part)
	}
}

func (c *customStep) names() []string {
	names := make([]string, len(c.logs))
	for i, log := range c.logs {
		names[i] = log.name
	}
	return names
}

// stepBuilds reports whether calling a user-defined step creates the weights, instead of Call, which may take other
// inputs.
func (m *Model) stepBuilds() bool {
	_, ok := m.topology.(*subclass)
	return ok
}

// explore traces steps once to learn what they use: unbuilt layers, optimizers, metrics. The caller holds m.mu.
func (m *Model) explore(steps []*customStep, p *parts) error {
	for _, step := range steps {
		if step.explored || !step.training && !m.compiled.testFits(p) {
			continue
		}
		types := make([]ir.Type, p.len())
		for i := range types {
			var err error
			if types[i], err = deviceType(*p.at(i), m.policy.Float()); err != nil {
				return fmt.Errorf("%s: %w", p.label(i), err)
			}
		}
		s, err := m.tryStep(step, types)
		if err != nil {
			return err
		}
		if err := m.assignStorage(m.strategy); err != nil {
			return err
		}
		for _, log := range step.logs {
			if err := m.placeAll(log.metric.Variables()); err != nil {
				return err
			}
		}
		if step.training {
			if err := m.takeOptimizers(s); err != nil {
				return err
			}
		}
		step.explored = true
	}
	return nil
}

// tryStep traces a step for a batch of the given types. The trace never runs.
func (m *Model) tryStep(step *customStep, types []ir.Type) (s *Step, err error) {
	defer ops.Catch(&err)
	c, rows := m.compiled, types[0].Shape[0]
	r := distribute.NewReplica(step.name, 1, rows, rows)
	in := make([]*ops.Tensor, len(types))
	for i, t := range types {
		in[i] = r.Graph().Input(fmt.Sprint("in", i), t.DType, t.Shape...)
	}
	x, y, w := splitArrays(in, c.testInputs, c.testTargets)
	if step.training {
		x, y, w = splitArrays(in, c.inputs, c.targets)
		w = c.applyClassWeights(m.policy.Float(), y, w)
	}
	return m.runStep(r, step, x, y, w), nil
}

// reported lists what a step of training or testing reports.
func (c *compiled) reported(training bool) []*namedMetric {
	if step := c.custom(training); step != nil {
		return step.logs
	}
	return c.compiledMetrics()
}

// custom returns the user-defined step, or nil for Keras's.
func (c *compiled) custom(training bool) *customStep {
	if training {
		return c.trainStep
	}
	return c.testStep
}

// known reports whether it is known what a step reports.
func (m *Model) known(training bool) bool {
	if step := m.compiled.custom(training); step != nil {
		return step.explored
	}
	return m.compiled.ready && m.outputTypes != nil
}

// allMetrics lists what both kinds of steps report and what was given to Compile, each metric once.
func (c *compiled) allMetrics() []*namedMetric {
	var all []*namedMetric
	for _, list := range [][]*namedMetric{c.reported(true), c.reported(false), c.compiledMetrics()} {
		for _, metric := range list {
			if !slices.ContainsFunc(all, func(m *namedMetric) bool { return m.metric == metric.metric }) {
				all = append(all, metric)
			}
		}
	}
	return all
}
