package metrics

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// KLDivergence is the mean of Σ t·ln(t/p) over the last axis, with both clipped to [1e-7, 1]. Name: "kl_divergence".
// Behaviour of keras.metrics.KLDivergence.
//
// Shapes: labels and predictions (batch, ..., d).
type KLDivergence struct {
	average
	Name  string `keras:"name,default=kl_divergence"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *KLDivergence) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *KLDivergence) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.KLDivergence(t, p)}
	})
}

// MetricName implements [Metric].
func (m *KLDivergence) MetricName() string { return m.NameOr(m.Name, "kl_divergence") }

// Direction implements [Metric].
func (m *KLDivergence) Direction() string { return worse }

// Poisson is the mean of p - t·ln(p + 1e-7). Name: "poisson". Behaviour of keras.metrics.Poisson.
//
// Shapes: labels and predictions (batch, ..., d).
type Poisson struct {
	average
	Name  string `keras:"name,default=poisson"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *Poisson) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *Poisson) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.Poisson(t, p)}
	})
}

// MetricName implements [Metric].
func (m *Poisson) MetricName() string { return m.NameOr(m.Name, "poisson") }

// Direction implements [Metric].
func (m *Poisson) Direction() string { return worse }

// BinaryCrossentropy is the mean of -[t·ln p + (1-t)·ln(1-p)], with p clipped to [1e-7, 1-1e-7]; see the loss of that
// name. Names: "binary_crossentropy", "bce", "BCE". Behaviour of keras.metrics.BinaryCrossentropy.
//
// Shapes: labels and predictions (batch, ..., d).
type BinaryCrossentropy struct {
	average
	FromLogits     bool    `keras:"from_logits"`          // predictions are logits, not probabilities
	LabelSmoothing float64 `keras:"label_smoothing,null"` // s in [0, 1]: labels become t·(1-s) + s/2
	Name           string  `keras:"name,default=binary_crossentropy"`
	DType          string  `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *BinaryCrossentropy) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *BinaryCrossentropy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(r *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.BinaryCrossentropy(r, t, p, m.FromLogits, m.LabelSmoothing, -1)}
	})
}

// MetricName implements [Metric].
func (m *BinaryCrossentropy) MetricName() string { return m.NameOr(m.Name, "binary_crossentropy") }

// Direction implements [Metric].
func (m *BinaryCrossentropy) Direction() string { return worse }

// CategoricalCrossentropy is the mean of -Σ t·ln p over the C classes, with p divided by its sum and clipped to [1e-7,
// 1-1e-7]; see the loss of that name. Name: "categorical_crossentropy". Behaviour of
// keras.metrics.CategoricalCrossentropy.
//
// Shapes: labels and predictions (batch, ..., classes).
type CategoricalCrossentropy struct {
	average
	FromLogits     bool    `keras:"from_logits"`          // predictions are logits, not probabilities
	LabelSmoothing float64 `keras:"label_smoothing,null"` // s in [0, 1]: labels become t·(1-s) + s/C
	Axis           *int    `keras:"axis,default=-1"`      // of the classes; nil is -1
	Name           string  `keras:"name,default=categorical_crossentropy"`
	DType          string  `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *CategoricalCrossentropy) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *CategoricalCrossentropy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.CategoricalCrossentropy(t, p, m.FromLogits, m.LabelSmoothing, or(m.Axis, -1))}
	})
}

// MetricName implements [Metric].
func (m *CategoricalCrossentropy) MetricName() string {
	return m.NameOr(m.Name, "categorical_crossentropy")
}

// Direction implements [Metric].
func (m *CategoricalCrossentropy) Direction() string { return worse }

// SparseCategoricalCrossentropy is the mean of -ln p[t] with integer class numbers t; see the loss of that name. Labels
// equal to IgnoreClass count 0; they are left out of the mean only where there are sample weights or a mask, as in
// Keras. Name: "sparse_categorical_crossentropy". Behaviour of keras.metrics.SparseCategoricalCrossentropy.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1).
type SparseCategoricalCrossentropy struct {
	average
	FromLogits  bool   `keras:"from_logits"`     // predictions are logits, not probabilities
	IgnoreClass *int   `keras:"ignore_class"`    // nil: none
	Axis        *int   `keras:"axis,default=-1"` // of the classes in the predictions; nil is -1
	Name        string `keras:"name,default=sparse_categorical_crossentropy"`
	DType       string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *SparseCategoricalCrossentropy) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *SparseCategoricalCrossentropy) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.SparseCategoricalCrossentropy(t, p, m.FromLogits, m.IgnoreClass, or(m.Axis, -1))}
	})
}

// MetricName implements [Metric].
func (m *SparseCategoricalCrossentropy) MetricName() string {
	return m.NameOr(m.Name, "sparse_categorical_crossentropy")
}

// Direction implements [Metric].
func (m *SparseCategoricalCrossentropy) Direction() string { return worse }
