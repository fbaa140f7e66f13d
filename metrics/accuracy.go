package metrics

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Accuracy is how often predictions equal labels, elementwise. Names: "accuracy" outside of a model's metrics (there
// the name means the kind of accuracy that fits the shapes; see [Resolve]). Behaviour of keras.metrics.Accuracy.
//
// Shapes: labels and predictions (batch, ...).
type Accuracy struct {
	average
	Name  string `keras:"name,default=accuracy"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *Accuracy) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *Accuracy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		t, p = sameShape(t, p)
		return values{x: m.matches(ops.Equal(t, p))}
	})
}

// MetricName implements [Metric].
func (m *Accuracy) MetricName() string { return m.NameOr(m.Name, "accuracy") }

// Direction implements [Metric].
func (m *Accuracy) Direction() string { return better }

// matches turns bools into ones and zeros.
func (a *average) matches(x *ops.Tensor) *ops.Tensor { return ops.Cast(x, a.dtype) }

// BinaryAccuracy is how often predictions, counted as 1 if greater than the threshold and as 0 otherwise, equal binary
// labels. Name: "binary_accuracy". Behaviour of keras.metrics.BinaryAccuracy.
//
// Shapes: labels and predictions (batch, ...).
type BinaryAccuracy struct {
	average
	Threshold *float64 `keras:"threshold,default=0.5"` // nil is 0.5
	Name      string   `keras:"name,default=binary_accuracy"`
	DType     string   `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *BinaryAccuracy) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *BinaryAccuracy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		t, p = sameShape(t, p)
		positive := ops.Cast(ops.CompareScalar(ir.Gt, p, or(m.Threshold, 0.5)), t.DType())
		return values{x: m.matches(ops.Equal(t, positive))}
	})
}

// MetricName implements [Metric].
func (m *BinaryAccuracy) MetricName() string { return m.NameOr(m.Name, "binary_accuracy") }

// Direction implements [Metric].
func (m *BinaryAccuracy) Direction() string { return better }

// CategoricalAccuracy is how often the largest prediction is at the index of the largest label; in a tie the first one
// counts. Name: "categorical_accuracy". Behaviour of keras.metrics.CategoricalAccuracy.
//
// Shapes: labels and predictions (batch, ..., classes).
type CategoricalAccuracy struct {
	average
	Name  string `keras:"name,default=categorical_accuracy"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *CategoricalAccuracy) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *CategoricalAccuracy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		if !t.Shape().Equal(p.Shape()) || p.Rank() < 2 {
			ops.Failf(p.Graph(), "labels have shape %v and predictions %v; both must be (batch, ..., classes) (for integer class numbers use the sparse variant)", t.Shape(), p.Shape())
		}
		return values{x: m.matches(ops.Equal(ops.Argmax(t, -1), ops.Argmax(p, -1)))}
	})
}

// MetricName implements [Metric].
func (m *CategoricalAccuracy) MetricName() string { return m.NameOr(m.Name, "categorical_accuracy") }

// Direction implements [Metric].
func (m *CategoricalAccuracy) Direction() string { return better }

// SparseCategoricalAccuracy is how often the largest prediction is at the index given by an integer label. Name:
// "sparse_categorical_accuracy". Behaviour of keras.metrics.SparseCategoricalAccuracy.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1).
type SparseCategoricalAccuracy struct {
	average
	Name  string `keras:"name,default=sparse_categorical_accuracy"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *SparseCategoricalAccuracy) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *SparseCategoricalAccuracy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		t = sparseLabels(t, p)
		return values{x: m.matches(ops.Equal(t, ops.Argmax(p, -1)))}
	})
}

// sparseLabels returns labels of the shape of predictions without the last axis.
func sparseLabels(t, p *ops.Tensor) *ops.Tensor {
	shape := t.Shape()
	if p.Rank() < 2 { // also of one example, which Keras would take for its classes
		ops.Failf(p.Graph(), "predictions have shape %v; expected (batch, ..., classes)", p.Shape())
	}
	if t.Rank() == p.Rank() && t.Dim(-1) == 1 {
		t = ops.Squeeze(t, -1)
	}
	if want := p.Shape()[:p.Rank()-1]; !t.Shape().Equal(want) {
		ops.Failf(p.Graph(), "labels have shape %v and predictions %v; expected integer class numbers of shape %v (for one-hot labels use the categorical variant)", shape, p.Shape(), want)
	}
	return t
}

// MetricName implements [Metric].
func (m *SparseCategoricalAccuracy) MetricName() string {
	return m.NameOr(m.Name, "sparse_categorical_accuracy")
}

// Direction implements [Metric].
func (m *SparseCategoricalAccuracy) Direction() string { return better }

// TopKCategoricalAccuracy is how often fewer than K predictions are greater than the prediction at the index of the
// largest label. Name: "top_k_categorical_accuracy". Behaviour of keras.metrics.TopKCategoricalAccuracy.
//
// Shapes: labels and predictions (batch, ..., classes).
type TopKCategoricalAccuracy struct {
	average
	K     int    `keras:"k,default=5"` // 0 is 5
	Name  string `keras:"name,default=top_k_categorical_accuracy"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *TopKCategoricalAccuracy) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *TopKCategoricalAccuracy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		if !t.Shape().Equal(p.Shape()) || p.Rank() < 2 {
			ops.Failf(p.Graph(), "labels have shape %v and predictions %v; both must be (batch, ..., classes)", t.Shape(), p.Shape())
		}
		return values{x: m.matches(topK(ops.Argmax(t, -1), p, kOf(p, m.K)))}
	})
}

// MetricName implements [Metric].
func (m *TopKCategoricalAccuracy) MetricName() string {
	return m.NameOr(m.Name, "top_k_categorical_accuracy")
}

// Direction implements [Metric].
func (m *TopKCategoricalAccuracy) Direction() string { return better }

// kOf returns k, or 5 if k is 0.
func kOf(p *ops.Tensor, k int) int {
	if k < 0 {
		ops.Failf(p.Graph(), "K must be positive, received %d", k)
	}
	if k == 0 {
		return 5
	}
	return k
}

// topK reports for labels (batch, ...) and predictions (batch, ..., classes) whether fewer than k predictions beat the
// label's.
func topK(t, p *ops.Tensor, k int) *ops.Tensor {
	classes := p.Dim(-1)
	rows := t.Shape().Size()
	return ops.Reshape(ops.InTopK(ops.Reshape(t, rows), ops.Reshape(p, rows, classes), k), t.Shape()...)
}

// SparseTopKCategoricalAccuracy is how often fewer than K predictions are greater than the prediction at the index
// given by an integer label. With FromSortedIDs predictions are class numbers, best first, and the label must be among
// the first K. Name: "sparse_top_k_categorical_accuracy". Behaviour of keras.metrics.SparseTopKCategoricalAccuracy.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1).
type SparseTopKCategoricalAccuracy struct {
	average
	K             int    `keras:"k,default=5"` // 0 is 5
	FromSortedIDs bool   `keras:"from_sorted_ids,omitempty"`
	Name          string `keras:"name,default=sparse_top_k_categorical_accuracy"`
	DType         string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *SparseTopKCategoricalAccuracy) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *SparseTopKCategoricalAccuracy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		t = sparseLabels(t, p)
		k := kOf(p, m.K)
		if m.FromSortedIDs {
			first := ops.SliceAxis(p, -1, 0, dim.Min(k, p.Dim(-1)))
			return values{x: m.matches(ops.Any(ops.Equal(ops.ExpandDims(t, -1), first), -1))}
		}
		if !t.DType().IsInteger() {
			t = ops.Cast(t, ir.Int32)
		}
		return values{x: m.matches(topK(t, p, k))}
	})
}

// MetricName implements [Metric].
func (m *SparseTopKCategoricalAccuracy) MetricName() string {
	return m.NameOr(m.Name, "sparse_top_k_categorical_accuracy")
}

// Direction implements [Metric].
func (m *SparseTopKCategoricalAccuracy) Direction() string { return better }
