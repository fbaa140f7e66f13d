package metrics

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// pickConfusion returns the confusion of precision and recall.
func pickConfusion(m Metric, thresholds []float64, topK int, classID *int) (confusion, error) {
	if err := checkGiven(thresholds); err != nil {
		return confusion{}, fmt.Errorf("metric %q: %w", m.MetricName(), err)
	}
	if topK < 0 {
		return confusion{}, fmt.Errorf("metric %q: TopK must be positive, received %d", m.MetricName(), topK)
	}
	switch {
	case thresholds == nil && topK > 0:
		thresholds = []float64{never}
	case thresholds == nil:
		thresholds = []float64{0.5}
	}
	return confusion{thresholds: thresholds, even: isEven(thresholds), topK: topK, classID: classID}, nil
}

// truePositiveShare is the state of precision and recall, TP/(TP + misses): the misses of Precision are false
// positives, those of Recall false negatives.
type truePositiveShare struct {
	Base
	confusion  confusion
	tp, misses *distribute.Variable
}

func (m *truePositiveShare) build(owner Metric, policy string, d ir.DType, thresholds []float64, topK int, classID *int, misses string) error {
	c, err := pickConfusion(owner, thresholds, topK, classID)
	if err != nil {
		return err
	}
	fresh, err := m.Begin(owner, policy, d)
	if fresh {
		m.confusion = c
		m.tp, m.misses = m.Add("true_positives", len(c.thresholds)), m.Add(misses, len(c.thresholds))
	}
	return err
}

func (m *truePositiveShare) update(owner Metric, yTrue, yPred, weight *ops.Tensor, misses func(counts) *ops.Tensor) {
	inMetric(owner, yPred, func() {
		r := m.ready(owner, yTrue, yPred)
		c := m.confusion.count(yTrue, yPred, weight, m.dtype)
		r.AssignAdd(m.tp, c.tp)
		r.AssignAdd(m.misses, misses(c))
	})
}

// Result implements [Metric].
func (m *truePositiveShare) Result(r *distribute.Replica) *ops.Tensor {
	if m.tp == nil {
		return ops.Zeros(r, ir.Float32)
	}
	sums := readAll(r, m.tp, m.misses)
	return only(ratio(sums[0], sums[1]))
}

// Direction implements [Metric].
func (m *truePositiveShare) Direction() string { return better }

// Precision is the share of positive labels among the positive predictions, TP/(TP+FP), or 0 if there are none. A
// prediction is positive if it is greater than the threshold. The default threshold is 0.5; with TopK all of the top k
// are positive by default. One threshold gives a scalar, several a vector. Name: "precision". Behaviour of
// keras.metrics.Precision.
//
// Shapes: labels, where not 0 counts as positive, and predictions (batch, ...), all axes alike.
type Precision struct {
	truePositiveShare
	Thresholds []float64 `keras:"thresholds,null,scalar"`
	TopK       int       `keras:"top_k,default=null"` // only the k largest predictions of a row can be positive; 0 is all
	ClassID    *int      `keras:"class_id"`           // only this class counts; nil is all
	Name       string    `keras:"name,default=precision"`
	DType      string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *Precision) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, m.Thresholds, m.TopK, m.ClassID, "false_positives")
}

// Update implements [Metric].
func (m *Precision) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, func(c counts) *ops.Tensor { return c.fp })
}

// MetricName implements [Metric].
func (m *Precision) MetricName() string { return m.NameOr(m.Name, "precision") }

// Recall is the share of positive predictions among the positive labels, TP/(TP+FN), or 0 if there are none. Otherwise
// it is like [Precision]. Name: "recall". Behaviour of keras.metrics.Recall.
//
// Shapes: labels, where not 0 counts as positive, and predictions (batch, ...), all axes alike.
type Recall struct {
	truePositiveShare
	Thresholds []float64 `keras:"thresholds,null,scalar"`
	TopK       int       `keras:"top_k,default=null"` // only the k largest predictions of a row can be positive; 0 is all
	ClassID    *int      `keras:"class_id"`           // only this class counts; nil is all
	Name       string    `keras:"name,default=recall"`
	DType      string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *Recall) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d, m.Thresholds, m.TopK, m.ClassID, "false_negatives")
}

// Update implements [Metric].
func (m *Recall) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, func(c counts) *ops.Tensor { return c.fn })
}

// MetricName implements [Metric].
func (m *Recall) MetricName() string { return m.NameOr(m.Name, "recall") }
