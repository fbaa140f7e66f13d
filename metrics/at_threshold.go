package metrics

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// atThreshold is the state of metrics that choose the best of many thresholds.
type atThreshold struct {
	quadruple
	confusion confusion
}

func (m *atThreshold) build(owner Metric, policy string, d ir.DType, what string, value float64, n int, classID *int) error {
	if !(value >= 0 && value <= 1) {
		return fmt.Errorf("metric %q: %s must be in [0, 1], received %v", owner.MetricName(), what, value)
	}
	if n < 0 || n > maxThresholds {
		return fmt.Errorf("metric %q: NumThresholds must be positive and at most %d, received %d", owner.MetricName(), maxThresholds, n)
	}
	if n == 0 {
		n = 200
	}
	fresh, err := m.Begin(owner, policy, d)
	if fresh {
		m.confusion = confusion{thresholds: []float64{0.5}, classID: classID}
		if n > 1 {
			m.confusion.thresholds, m.confusion.even = evenThresholds(n), true
		}
		m.make(n)
	}
	return err
}

// maxThresholds limits the number of thresholds, because a metric's variables have that length.
const maxThresholds = 1 << 20

// evenThresholds returns 0, 1/(n-1), ..., 1.
func evenThresholds(n int) []float64 {
	t := make([]float64, n)
	for i := range t {
		t[i] = float64(i) / float64(n-1)
	}
	return t
}

func (m *atThreshold) update(owner Metric, yTrue, yPred, weight *ops.Tensor) {
	inMetric(owner, yPred, func() {
		r := m.ready(owner, yTrue, yPred)
		m.add(r, m.confusion.count(yTrue, yPred, weight, m.dtype))
	})
}

// best returns the largest dependent value among the thresholds whose constrained value is at least limit, or 0 if
// there is none.
func (m *atThreshold) best(r *distribute.Replica, limit float64, f func(counts) (constrained, dependent *ops.Tensor)) *ops.Tensor {
	if m.tp == nil {
		return ops.Zeros(r, ir.Float32)
	}
	constrained, dependent := f(m.read(r))
	feasible := ops.CompareScalar(ir.Ge, constrained, limit)
	return ops.MaximumScalar(ops.Max(ops.Where(feasible, dependent, ops.ZerosLike(dependent))), 0)
}

// Direction implements [Metric].
func (m *atThreshold) Direction() string { return better }

// SensitivityAtSpecificity is the best sensitivity TP/(TP+FN) among the thresholds whose specificity TN/(TN+FP) is at
// least the given one. There are NumThresholds evenly spaced thresholds. Name: "sensitivity_at_specificity". Behaviour
// of keras.metrics.SensitivityAtSpecificity.
//
// Shapes: labels, where not 0 counts as positive, and predictions in [0, 1], (batch, ...), all axes alike.
type SensitivityAtSpecificity struct {
	atThreshold
	Specificity   float64 `keras:"specificity,required"`       // in [0, 1]
	NumThresholds int     `keras:"num_thresholds,default=200"` // 0 is 200
	ClassID       *int    `keras:"class_id"`                   // only this class counts; nil is all
	Name          string  `keras:"name,default=sensitivity_at_specificity"`
	DType         string  `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *SensitivityAtSpecificity) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, "Specificity", m.Specificity, m.NumThresholds, m.ClassID)
}

// Update implements [Metric].
func (m *SensitivityAtSpecificity) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight)
}

// Result implements [Metric].
func (m *SensitivityAtSpecificity) Result(r *distribute.Replica) *ops.Tensor {
	return m.best(r, m.Specificity, func(c counts) (constrained, dependent *ops.Tensor) { return ratio(c.tn, c.fp), ratio(c.tp, c.fn) })
}

// MetricName implements [Metric].
func (m *SensitivityAtSpecificity) MetricName() string {
	return m.NameOr(m.Name, "sensitivity_at_specificity")
}

// SpecificityAtSensitivity is the best specificity TN/(TN+FP) among the thresholds whose sensitivity TP/(TP+FN) is at
// least the given one. There are NumThresholds evenly spaced thresholds. Name: "specificity_at_sensitivity". Behaviour
// of keras.metrics.SpecificityAtSensitivity.
//
// Shapes: labels, where not 0 counts as positive, and predictions in [0, 1], (batch, ...), all axes alike.
type SpecificityAtSensitivity struct {
	atThreshold
	Sensitivity   float64 `keras:"sensitivity,required"`       // in [0, 1]
	NumThresholds int     `keras:"num_thresholds,default=200"` // 0 is 200
	ClassID       *int    `keras:"class_id"`                   // only this class counts; nil is all
	Name          string  `keras:"name,default=specificity_at_sensitivity"`
	DType         string  `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *SpecificityAtSensitivity) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, "Sensitivity", m.Sensitivity, m.NumThresholds, m.ClassID)
}

// Update implements [Metric].
func (m *SpecificityAtSensitivity) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight)
}

// Result implements [Metric].
func (m *SpecificityAtSensitivity) Result(r *distribute.Replica) *ops.Tensor {
	return m.best(r, m.Sensitivity, func(c counts) (constrained, dependent *ops.Tensor) { return ratio(c.tp, c.fn), ratio(c.tn, c.fp) })
}

// MetricName implements [Metric].
func (m *SpecificityAtSensitivity) MetricName() string {
	return m.NameOr(m.Name, "specificity_at_sensitivity")
}

// PrecisionAtRecall is the best precision TP/(TP+FP) among the thresholds whose recall TP/(TP+FN) is at least the given
// one. There are NumThresholds evenly spaced thresholds. Name: "precision_at_recall". Behaviour of
// keras.metrics.PrecisionAtRecall.
//
// Shapes: labels, where not 0 counts as positive, and predictions in [0, 1], (batch, ...), all axes alike.
type PrecisionAtRecall struct {
	atThreshold
	Recall        float64 `keras:"recall,required"`            // in [0, 1]
	NumThresholds int     `keras:"num_thresholds,default=200"` // 0 is 200
	ClassID       *int    `keras:"class_id"`                   // only this class counts; nil is all
	Name          string  `keras:"name,default=precision_at_recall"`
	DType         string  `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *PrecisionAtRecall) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, "Recall", m.Recall, m.NumThresholds, m.ClassID)
}

// Update implements [Metric].
func (m *PrecisionAtRecall) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight)
}

// Result implements [Metric].
func (m *PrecisionAtRecall) Result(r *distribute.Replica) *ops.Tensor {
	return m.best(r, m.Recall, func(c counts) (constrained, dependent *ops.Tensor) { return ratio(c.tp, c.fn), ratio(c.tp, c.fp) })
}

// MetricName implements [Metric].
func (m *PrecisionAtRecall) MetricName() string { return m.NameOr(m.Name, "precision_at_recall") }

// RecallAtPrecision is the best recall TP/(TP+FN) among the thresholds whose precision TP/(TP+FP) is at least the given
// one. There are NumThresholds evenly spaced thresholds. Name: "recall_at_precision". Behaviour of
// keras.metrics.RecallAtPrecision.
//
// Shapes: labels, where not 0 counts as positive, and predictions in [0, 1], (batch, ...), all axes alike.
type RecallAtPrecision struct {
	atThreshold
	Precision     float64 `keras:"precision,required"`         // in [0, 1]
	NumThresholds int     `keras:"num_thresholds,default=200"` // 0 is 200
	ClassID       *int    `keras:"class_id"`                   // only this class counts; nil is all
	Name          string  `keras:"name,default=recall_at_precision"`
	DType         string  `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *RecallAtPrecision) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, "Precision", m.Precision, m.NumThresholds, m.ClassID)
}

// Update implements [Metric].
func (m *RecallAtPrecision) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight)
}

// Result implements [Metric].
func (m *RecallAtPrecision) Result(r *distribute.Replica) *ops.Tensor {
	return m.best(r, m.Precision, func(c counts) (constrained, dependent *ops.Tensor) { return ratio(c.tp, c.fp), ratio(c.tp, c.fn) })
}

// MetricName implements [Metric].
func (m *RecallAtPrecision) MetricName() string { return m.NameOr(m.Name, "recall_at_precision") }
