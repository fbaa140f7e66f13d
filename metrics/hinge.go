package metrics

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Hinge is the mean of max(1 - t·p, 0) with labels -1 and 1; if all labels of a global batch are 0 or 1, they are
// treated as -1 and 1. Name: "hinge". Behaviour of keras.metrics.Hinge.
//
// Shapes: labels and predictions (batch, ..., d).
type Hinge struct {
	average
	Name  string `keras:"name,default=hinge"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *Hinge) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *Hinge) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(r *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.Hinge(r, t, p)}
	})
}

// MetricName implements [Metric].
func (m *Hinge) MetricName() string { return m.NameOr(m.Name, "hinge") }

// Direction implements [Metric].
func (m *Hinge) Direction() string { return worse }

// SquaredHinge is the mean of max(1 - t·p, 0)², with labels as for [Hinge]. Name: "squared_hinge". Behaviour of
// keras.metrics.SquaredHinge.
//
// Shapes: labels and predictions (batch, ..., d).
type SquaredHinge struct {
	average
	Name  string `keras:"name,default=squared_hinge"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *SquaredHinge) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *SquaredHinge) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(r *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.SquaredHinge(r, t, p)}
	})
}

// MetricName implements [Metric].
func (m *SquaredHinge) MetricName() string { return m.NameOr(m.Name, "squared_hinge") }

// Direction implements [Metric].
func (m *SquaredHinge) Direction() string { return worse }

// CategoricalHinge is the mean of max(max((1-t)·p) - Σ t·p + 1, 0) over the classes, with one-hot labels t. Name:
// "categorical_hinge". Behaviour of keras.metrics.CategoricalHinge.
//
// Shapes: labels and predictions (batch, ..., classes).
type CategoricalHinge struct {
	average
	Name  string `keras:"name,default=categorical_hinge"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *CategoricalHinge) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *CategoricalHinge) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.CategoricalHinge(t, p)}
	})
}

// MetricName implements [Metric].
func (m *CategoricalHinge) MetricName() string { return m.NameOr(m.Name, "categorical_hinge") }

// Direction implements [Metric].
func (m *CategoricalHinge) Direction() string { return worse }
