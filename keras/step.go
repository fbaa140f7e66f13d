package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// functions creates the traced functions for batches with the given numbers of inputs and targets.
func (m *Model) functions(inputs, targets int) {
	c := m.compiled
	c.inputs, c.targets, c.filling = inputs, targets, filling{}
	c.traced = m.frozenLayers()
	c.train = distribute.NewFunction(m.strategy, "train_step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		x, y, w := splitArrays(in, inputs, targets)
		w = c.applyClassWeights(m.policy.Float(), y, w)
		if c.trainStep != nil {
			return rowGradients(m.rowsOf(x), m.runStep(r, c.trainStep, x, y, w).rowGrads)
		}
		return m.trainStep(r, x, y, w)
	})
	m.testFunction(inputs, targets)
	c.trainResults = m.resultsOf(func() []*namedMetric { return c.reported(true) })
	c.testResults = c.trainResults
	if c.trainStep != nil || c.testStep != nil {
		c.testResults = m.resultsOf(func() []*namedMetric { return c.reported(false) })
	}
}

// testFunction creates the function of the test step, for batches with the given numbers of arrays.
func (m *Model) testFunction(inputs, targets int) {
	c := m.compiled
	c.testInputs, c.testTargets = inputs, targets
	c.test = distribute.NewFunction(m.strategy, "test_step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		x, y, w := splitArrays(in, inputs, targets)
		if c.testStep != nil {
			m.runStep(r, c.testStep, x, y, w)
		} else {
			m.testStep(r, x, y, w)
		}
		return nil
	})
}

// otherTest recreates the function of a user-defined test step, for batches with other arrays than those of the
// training step, which keeps its function.
func (m *Model) otherTest(p *parts) {
	c := m.compiled
	c.closeBatches()
	c.test.Close()
	m.testFunction(len(p.x), len(p.y))
	c.testStep.explored = false
}

func splitArrays(in []*ops.Tensor, inputs, targets int) (x, y, w []*ops.Tensor) {
	return in[:inputs], in[inputs : inputs+targets], in[inputs+targets:]
}

func (m *Model) context(r *distribute.Replica, training bool) *layers.Context {
	c := r.Inference()
	c.Training = training
	c.Policy = m.policy
	return c
}

// outputs calls the model. All variables that it reads must be its own: others would be neither trained nor saved.
func (m *Model) outputs(c *layers.Context, x []*ops.Tensor) []*ops.Tensor {
	r, out := c.Replica, m.CallAll(c, x...)
	m.checkOwn(r, nil, strangeVariable)
	return out
}

// checkOwn fails if the trace uses variables that are neither the model's nor among others. The message's arguments are
// the model and the variable.
func (m *Model) checkOwn(r *distribute.Replica, others distribute.Variables, message string) {
	own := map[*distribute.Variable]bool{}
	for _, v := range slices.Concat(m.Weights(), others) {
		own[v] = true
	}
	for _, v := range r.Variables() {
		state := v.Spec().Synchronization == distribute.OnRead // state that a layer keeps between batches is not a weight
		if !own[v] && !state {
			ops.Failf(r.Graph(), message, m.Name(), v.Path())
		}
	}
}

// trainStep is one step: forward, loss, gradients, update, metrics. It returns the gradients of the rows of dynamic
// embeddings.
func (m *Model) trainStep(r *distribute.Replica, x, y, w []*ops.Tensor) []*ops.Tensor {
	c := m.compiled
	outputs := m.outputs(m.stepContext(r, true), x)
	total := m.measure(r, outputs, y, w)
	if !m.hasLoss(r) {
		ops.Failf(r.Graph(), "there is no loss to train on: Compile was given none, and no layer adds one or regularizes; set CompileConfig.Loss")
	}
	rows := m.rowsOf(x)
	if len(rows) > 0 {
		grads := c.checkGradients(r, c.trainable, ops.NewTape(r).Gradients(total, rowSources{c.trainable, rows}))
		if n := len(c.trainable); n > 0 {
			c.optimizer.Apply(r, ops.Gradients{Of: c.trainable, Values: grads.Values[:n]})
		}
		return rowGradients(rows, grads.Values[len(c.trainable):])
	}
	if len(c.trainable) > 0 {
		c.optimizer.Apply(r, c.checkGradients(r, c.trainable, ops.NewTape(r).Gradients(c.optimizer.ScaleLoss(r, total), c.trainable)))
	}
	return nil
}

// testStep is one step of evaluation: forward, loss, metrics.
func (m *Model) testStep(r *distribute.Replica, x, y, w []*ops.Tensor) {
	m.measure(r, m.outputs(m.stepContext(r, false), x), y, w)
	if m.compiled.trainStep != nil && !m.hasLoss(r) {
		ops.Failf(r.Graph(), "the model has a TrainStep of its own and no TestStep, and Compile was given no loss to measure; add a TestStep, or set CompileConfig.Loss")
	}
}

// hasLoss reports whether anything has been added to the loss of the trace.
func (m *Model) hasLoss(r *distribute.Replica) bool {
	if len(r.Losses()) > 0 || slices.ContainsFunc(m.compiled.outputs, func(o *outputLoss) bool { return o.loss != nil }) {
		return true
	}
	return slices.ContainsFunc(m.trainedVariables(), func(v *distribute.Variable) bool { return v.Spec().Regularizer != nil })
}

// measure computes this replica's part of the loss and updates all metrics.
func (m *Model) measure(r *distribute.Replica, outputs, y, w []*ops.Tensor) *ops.Tensor {
	total := m.computeLoss(r, outputs, y, w)
	m.compiled.updateMetrics(r, m.policy.Float(), outputs, y, w)
	return total
}

// computeLoss computes this replica's part of the loss and tracks it.
//
// The parts of all replicas add up to the loss of the whole batch: losses divide by the global batch size,
// regularization is split evenly, and losses that layers added are weighted by the replica's share of the examples.
func (m *Model) computeLoss(r *distribute.Replica, outputs, y, w []*ops.Tensor) *ops.Tensor {
	c := m.compiled
	float := m.policy.Float()
	total, reported := ops.Zeros(r, float), ops.Zeros(r, float)
	for i, o := range c.outputs {
		if o.loss == nil {
			continue
		}
		part, report := losses.ComputeAndReport(o.loss, y[o.target], upcast(outputs[i], float), weightOf(w, o.target))
		part, report = ops.Cast(part, float), ops.Cast(report, float)
		if o.tracker != nil {
			trackLoss(r, o.tracker, report)
		}
		total = ops.Add(total, ops.MultiplyScalar(part, o.weight))
		reported = ops.Add(reported, ops.MultiplyScalar(report, o.weight))
	}
	penalties := m.penalties(r, float)
	total = ops.Add(total, penalties)
	trackLoss(r, c.lossTracker, c.checkLoss(r, ops.Add(reported, penalties)))
	return total
}

// updateMetrics updates the metrics of Compile with a batch.
func (c *compiled) updateMetrics(r *distribute.Replica, float ir.DType, outputs, y, w []*ops.Tensor) {
	for _, metric := range c.metrics {
		place := c.outputs[metric.output].target
		if place < 0 {
			continue
		}
		var weight *ops.Tensor
		if metric.weighted {
			weight = weightOf(w, place)
		}
		if rows := r.RowWeights(); rows != nil && weight == nil {
			weight = rows
		} else if rows != nil {
			weight = objectives.OnlyRows(r, weight)
		}
		metric.metric.Update(y[place], upcast(outputs[metric.output], float), weight)
	}
}

// upcast converts half-precision results to the type of losses and metrics.
func upcast(x *ops.Tensor, float ir.DType) *ops.Tensor {
	if x.DType().IsFloat() {
		return ops.Cast(x, float)
	}
	return x
}

// weightOf returns the sample weights for targets i: their own, or the single array for all.
func weightOf(w []*ops.Tensor, i int) *ops.Tensor {
	switch {
	case i < len(w):
		return w[i]
	case len(w) == 1:
		return w[0]
	}
	return nil
}

// penalties returns this replica's share of regularization and of the losses that layers added.
func (m *Model) penalties(r *distribute.Replica, float ir.DType) *ops.Tensor {
	total := ops.Zeros(r, float)
	for _, v := range m.trainedVariables() {
		if f := v.Spec().Regularizer; f != nil {
			penalty := ops.Cast(f(r.Read(v)), float)
			total = ops.Add(total, ops.DivideScalar(penalty, float64(r.NumReplicasInSync())))
		}
	}
	share := 1.0
	if n := r.GlobalBatchSize(); dim.Known(n) && n > 0 { // programs for batches of any size run on one replica
		share = float64(r.LocalBatchSize()) / float64(r.GlobalBatchSize())
	}
	for _, loss := range r.Losses() {
		if r.LocalBatchSize() == 0 {
			continue // an empty part: its losses may be 0/0
		}
		total = ops.Add(total, ops.MultiplyScalar(ops.Cast(loss, float), share))
	}
	return total
}

// trackLoss adds a replica's part of a loss to its running mean, weighted by the number of examples.
func trackLoss(r *distribute.Replica, tracker interface {
	Variables() distribute.Variables
}, part *ops.Tensor) {
	vars := tracker.Variables() // total, count
	dtype := vars[0].Type().DType
	part = ops.StopGradient(ops.Cast(part, dtype))
	r.AssignAdd(vars[0], ops.MultiplyByLength(part, r.GlobalBatchSize()))
	count := ops.Length(r, dtype, r.LocalBatchSize())
	if rows := r.RowWeights(); rows != nil {
		count = ops.Cast(ops.Sum(rows), dtype)
	}
	r.AssignAdd(vars[1], count)
}

// applyClassWeights turns class weights into sample weights: each example gets the weight of its label's class, which
// is 1 for classes that are not listed.
func (c *compiled) applyClassWeights(float ir.DType, y, w []*ops.Tensor) []*ops.Tensor {
	if len(c.classWeight) == 0 {
		return w
	}
	label := y[0]
	switch {
	case label.Rank() > 1 && label.Dim(-1) != 1:
		label = ops.Argmax(label, -1)
	case label.Rank() > 1:
		label = ops.Squeeze(label, -1)
	}
	label = ops.Cast(ops.Round(ops.Cast(label, ir.Float64)), ir.Int32)
	size := 0
	for class := range c.classWeight {
		size = max(size, class+1)
	}
	table := slices.Repeat([]float64{1}, size)
	for class, weight := range c.classWeight {
		table[class] = weight
	}
	weights := ops.Constant(label, float, ir.Shape{size}, table)
	known := ops.LogicalAnd(ops.CompareScalar(ir.Ge, label, 0), ops.CompareScalar(ir.Lt, label, float64(size)))
	picked := ops.Take(weights, ops.Where(known, label, ops.ZerosLike(label)), 0)
	return []*ops.Tensor{ops.Where(known, picked, ops.OnesLike(picked))}
}
