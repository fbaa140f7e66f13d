package metrics

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MeanSquaredError is the mean of (t-p)². Names: "mean_squared_error", "mse", "MSE". Behaviour of
// keras.metrics.MeanSquaredError.
//
// Shapes: labels and predictions (batch, ..., d).
type MeanSquaredError struct {
	average
	Name  string `keras:"name,default=mean_squared_error"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *MeanSquaredError) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *MeanSquaredError) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.MeanSquaredError(t, p)}
	})
}

// MetricName implements [Metric].
func (m *MeanSquaredError) MetricName() string { return m.NameOr(m.Name, "mean_squared_error") }

// Direction implements [Metric].
func (m *MeanSquaredError) Direction() string { return worse }

// MeanAbsoluteError is the mean of |t-p|. Names: "mean_absolute_error", "mae", "MAE". Behaviour of
// keras.metrics.MeanAbsoluteError.
//
// Shapes: labels and predictions (batch, ..., d).
type MeanAbsoluteError struct {
	average
	Name  string `keras:"name,default=mean_absolute_error"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *MeanAbsoluteError) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *MeanAbsoluteError) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.MeanAbsoluteError(t, p)}
	})
}

// MetricName implements [Metric].
func (m *MeanAbsoluteError) MetricName() string { return m.NameOr(m.Name, "mean_absolute_error") }

// Direction implements [Metric].
func (m *MeanAbsoluteError) Direction() string { return worse }

// MeanAbsolutePercentageError is the mean of 100·|t-p|/max(|t|, 1e-7), in percent. Names:
// "mean_absolute_percentage_error", "mape", "MAPE". Behaviour of keras.metrics.MeanAbsolutePercentageError.
//
// Shapes: labels and predictions (batch, ..., d).
type MeanAbsolutePercentageError struct {
	average
	Name  string `keras:"name,default=mean_absolute_percentage_error"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *MeanAbsolutePercentageError) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *MeanAbsolutePercentageError) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.MeanAbsolutePercentageError(t, p)}
	})
}

// MetricName implements [Metric].
func (m *MeanAbsolutePercentageError) MetricName() string {
	return m.NameOr(m.Name, "mean_absolute_percentage_error")
}

// Direction implements [Metric].
func (m *MeanAbsolutePercentageError) Direction() string { return worse }

// MeanSquaredLogarithmicError is the mean of (ln(max(p, 1e-7) + 1) - ln(max(t, 1e-7) + 1))². Names:
// "mean_squared_logarithmic_error", "msle", "MSLE". Behaviour of keras.metrics.MeanSquaredLogarithmicError.
//
// Shapes: labels and predictions (batch, ..., d).
type MeanSquaredLogarithmicError struct {
	average
	Name  string `keras:"name,default=mean_squared_logarithmic_error"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *MeanSquaredLogarithmicError) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *MeanSquaredLogarithmicError) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.MeanSquaredLogarithmicError(t, p)}
	})
}

// MetricName implements [Metric].
func (m *MeanSquaredLogarithmicError) MetricName() string {
	return m.NameOr(m.Name, "mean_squared_logarithmic_error")
}

// Direction implements [Metric].
func (m *MeanSquaredLogarithmicError) Direction() string { return worse }

// LogCoshError is the mean of ln(cosh(p-t)). Name: "log_cosh_error" ("logcosh" in logs). Behaviour of
// keras.metrics.LogCoshError.
//
// Shapes: labels and predictions (batch, ..., d).
type LogCoshError struct {
	average
	Name  string `keras:"name,default=logcosh"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *LogCoshError) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *LogCoshError) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		return values{x: objectives.LogCosh(t, p)}
	})
}

// MetricName implements [Metric].
func (m *LogCoshError) MetricName() string { return m.NameOr(m.Name, "logcosh") }

// Direction implements [Metric].
func (m *LogCoshError) Direction() string { return worse }

// CosineSimilarity is the mean of the cosine of the angle between labels and predictions, Σ t/‖t‖ · p/‖p‖ along an
// axis: 1 for equal directions (the loss of that name has the opposite sign). Name: "cosine_similarity". Behaviour of
// keras.metrics.CosineSimilarity.
//
// Shapes: labels and predictions (batch, ...). With axis 0 the vectors run through the global batch.
type CosineSimilarity struct {
	average
	Axis  *int   `keras:"axis,omitempty,default=-1"` // nil is -1
	Name  string `keras:"name,default=cosine_similarity"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *CosineSimilarity) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *CosineSimilarity) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(r *distribute.Replica, t, p *ops.Tensor) values {
		return values{objectives.CosineSimilarity(r, t, p, or(m.Axis, -1)), isBatch(p, or(m.Axis, -1))}
	})
}

// MetricName implements [Metric].
func (m *CosineSimilarity) MetricName() string { return m.NameOr(m.Name, "cosine_similarity") }

// Direction implements [Metric].
func (m *CosineSimilarity) Direction() string { return better }

// isBatch reports whether an axis of predictions is that of the batch. Predictions (batch) count as (batch, 1).
func isBatch(p *ops.Tensor, axis int) bool { return axis == 0 || axis == -max(p.Rank(), 2) }

// RootMeanSquaredError is the square root of the mean of (t-p)² over everything seen. Name: "root_mean_squared_error".
// Behaviour of keras.metrics.RootMeanSquaredError.
//
// Shapes: labels and predictions (batch, ..., d).
type RootMeanSquaredError struct {
	average
	Name  string `keras:"name,default=root_mean_squared_error"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *RootMeanSquaredError) Build(d ir.DType, _, _ ir.Type) error {
	return m.build(m, m.DType, d)
}

// Update implements [Metric].
func (m *RootMeanSquaredError) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred.WithMask(nil), sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		t, p = sameShape(t, p)
		return values{x: ops.Square(ops.Subtract(ops.Cast(p, m.dtype), ops.Cast(t, m.dtype)))}
	})
}

// Result implements [Metric].
func (m *RootMeanSquaredError) Result(r *distribute.Replica) *ops.Tensor {
	return ops.Sqrt(m.average.Result(r))
}

// MetricName implements [Metric].
func (m *RootMeanSquaredError) MetricName() string {
	return m.NameOr(m.Name, "root_mean_squared_error")
}

// Direction implements [Metric].
func (m *RootMeanSquaredError) Direction() string { return worse }
