package metrics

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// conditionCount counts one kind of predictions.
type conditionCount struct {
	Base
	confusion   confusion
	accumulator *distribute.Variable
}

func (m *conditionCount) build(owner Metric, policy string, d ir.DType, thresholds []float64) error {
	if err := checkGiven(thresholds); err != nil {
		return fmt.Errorf("metric %q: %w", owner.MetricName(), err)
	}
	if thresholds == nil {
		thresholds = []float64{0.5}
	}
	fresh, err := m.Begin(owner, policy, d)
	if fresh {
		m.confusion = confusion{thresholds: thresholds, even: isEven(thresholds)}
		m.accumulator = m.Add("accumulator", len(thresholds))
	}
	return err
}

func (m *conditionCount) update(owner Metric, yTrue, yPred, weight *ops.Tensor, pick func(counts) *ops.Tensor) {
	inMetric(owner, yPred, func() {
		r := m.ready(owner, yTrue, yPred)
		r.AssignAdd(m.accumulator, pick(m.confusion.count(yTrue, yPred, weight, m.dtype)))
	})
}

// Result implements [Metric].
func (m *conditionCount) Result(r *distribute.Replica) *ops.Tensor {
	if m.accumulator == nil {
		return ops.Zeros(r, ir.Float32)
	}
	return only(read(r, m.accumulator))
}

// Direction implements [Metric]: as in Keras it is not given.
func (m *conditionCount) Direction() string { return "" }

// TruePositives is the (weighted) number of positive labels whose prediction is greater than the threshold. Thresholds
// nil is one of 0.5; one threshold gives a scalar, several a vector. Behaviour of keras.metrics.TruePositives.
//
// Shapes: labels, where not 0 counts as positive, and predictions (batch, ...), all axes alike.
type TruePositives struct {
	conditionCount
	Thresholds []float64 `keras:"thresholds,null,scalar"` // in [0, 1]
	Name       string    `keras:"name,default=true_positives"`
	DType      string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *TruePositives) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, m.Thresholds)
}

// Update implements [Metric].
func (m *TruePositives) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, func(c counts) *ops.Tensor { return c.tp })
}

// MetricName implements [Metric].
func (m *TruePositives) MetricName() string { return m.NameOr(m.Name, "true_positives") }

// TrueNegatives is the (weighted) number of negative labels whose prediction is not greater than the threshold.
// Thresholds nil is one of 0.5; one threshold gives a scalar, several a vector. Behaviour of
// keras.metrics.TrueNegatives.
//
// Shapes: labels, where not 0 counts as positive, and predictions (batch, ...), all axes alike.
type TrueNegatives struct {
	conditionCount
	Thresholds []float64 `keras:"thresholds,null,scalar"` // in [0, 1]
	Name       string    `keras:"name,default=true_negatives"`
	DType      string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *TrueNegatives) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, m.Thresholds)
}

// Update implements [Metric].
func (m *TrueNegatives) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, func(c counts) *ops.Tensor { return c.tn })
}

// MetricName implements [Metric].
func (m *TrueNegatives) MetricName() string { return m.NameOr(m.Name, "true_negatives") }

// FalsePositives is the (weighted) number of negative labels whose prediction is greater than the threshold. Thresholds
// nil is one of 0.5; one threshold gives a scalar, several a vector. Behaviour of keras.metrics.FalsePositives.
//
// Shapes: labels, where not 0 counts as positive, and predictions (batch, ...), all axes alike.
type FalsePositives struct {
	conditionCount
	Thresholds []float64 `keras:"thresholds,null,scalar"` // in [0, 1]
	Name       string    `keras:"name,default=false_positives"`
	DType      string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *FalsePositives) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, m.Thresholds)
}

// Update implements [Metric].
func (m *FalsePositives) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, func(c counts) *ops.Tensor { return c.fp })
}

// MetricName implements [Metric].
func (m *FalsePositives) MetricName() string { return m.NameOr(m.Name, "false_positives") }

// FalseNegatives is the (weighted) number of positive labels whose prediction is not greater than the threshold.
// Thresholds nil is one of 0.5; one threshold gives a scalar, several a vector. Behaviour of
// keras.metrics.FalseNegatives.
//
// Shapes: labels, where not 0 counts as positive, and predictions (batch, ...), all axes alike.
type FalseNegatives struct {
	conditionCount
	Thresholds []float64 `keras:"thresholds,null,scalar"` // in [0, 1]
	Name       string    `keras:"name,default=false_negatives"`
	DType      string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *FalseNegatives) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, m.Thresholds)
}

// Update implements [Metric].
func (m *FalseNegatives) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, func(c counts) *ops.Tensor { return c.fn })
}

// MetricName implements [Metric].
func (m *FalseNegatives) MetricName() string { return m.NameOr(m.Name, "false_negatives") }
