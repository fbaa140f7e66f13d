package metrics

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// PearsonCorrelation is the mean of the correlation of labels and predictions, Σ (t-t̄)·(p-p̄)/(n·σ_t·σ_p) along the
// axes, in [-1, 1]; it is NaN for a vector of equal numbers. Name: "pearson_correlation". Behaviour of
// keras.metrics.PearsonCorrelation.
//
// Shapes: labels and predictions (batch, ...). With axis 0 among the axes the vectors run through the global batch.
type PearsonCorrelation struct {
	average
	Axis  []int  `keras:"axis,scalar,default=-1"` // nil is -1
	Name  string `keras:"name,default=pearson_correlation"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *PearsonCorrelation) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *PearsonCorrelation) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(r *distribute.Replica, t, p *ops.Tensor) values {
		return m.overAxes(r, t, p, m.Axis, pearson)
	})
}

// MetricName implements [Metric].
func (m *PearsonCorrelation) MetricName() string { return m.NameOr(m.Name, "pearson_correlation") }

// Direction implements [Metric].
func (m *PearsonCorrelation) Direction() string { return better }

// ConcordanceCorrelation is the mean of
//
//	2·(t-p̄)·(p-p̄) / (σ_t² + σ_p² + (t̄-p̄)² + 1e-7)
//
// along the axes: like [PearsonCorrelation], but 1 only where predictions equal labels. (The mean subtracted from t is
// that of p, as in Keras; over the whole axis it makes no difference.) Name: "concordance_correlation". Behaviour of
// keras.metrics.ConcordanceCorrelation. Source: Lin, "A Concordance Correlation Coefficient to Evaluate
// Reproducibility", Biometrics 1989.
//
// Shapes: labels and predictions (batch, ...). With axis 0 among the axes the vectors run through the global batch.
type ConcordanceCorrelation struct {
	average
	Axis  []int  `keras:"axis,scalar,default=-1"` // nil is -1
	Name  string `keras:"name,default=concordance_correlation"`
	DType string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *ConcordanceCorrelation) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *ConcordanceCorrelation) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(r *distribute.Replica, t, p *ops.Tensor) values {
		return m.overAxes(r, t, p, m.Axis, concordance)
	})
}

// MetricName implements [Metric].
func (m *ConcordanceCorrelation) MetricName() string {
	return m.NameOr(m.Name, "concordance_correlation")
}

// Direction implements [Metric].
func (m *ConcordanceCorrelation) Direction() string { return better }

// overAxes applies f to labels and predictions along axes, nil for the last one.
func (a *average) overAxes(r *distribute.Replica, t, p *ops.Tensor, axes []int, f func(t, p *ops.Tensor, axes []int) *ops.Tensor) values {
	switch {
	case axes == nil:
		axes = []int{-1}
	case len(axes) == 0:
		ops.Failf(p.Graph(), "Axis is empty; expected an axis, or nil for the last one")
	}
	t, p = sameShape(t, p)
	t, p = ops.Cast(t, a.dtype), ops.Cast(p, a.dtype)
	shared := false
	for _, axis := range axes {
		shared = shared || p.Axis(axis) == 0
	}
	if shared {
		t, p = objectives.Join(r, t), objectives.Join(r, p)
	}
	return values{f(t, p, axes), shared}
}

// centered returns x - mean and the mean, which keeps the axes.
func centered(x *ops.Tensor, axes []int) (difference, mean *ops.Tensor) {
	mean = ops.KeepDims(ops.Mean(x, axes...), x, axes...)
	return ops.Subtract(x, mean), mean
}

func pearson(t, p *ops.Tensor, axes []int) *ops.Tensor {
	normal := func(x *ops.Tensor) *ops.Tensor {
		d, _ := centered(x, axes)
		return ops.Divide(d, ops.KeepDims(ops.Std(d, axes...), d, axes...))
	}
	return ops.Mean(ops.Multiply(normal(t), normal(p)), axes...)
}

func concordance(t, p *ops.Tensor, axes []int) *ops.Tensor {
	variance := func(d *ops.Tensor) *ops.Tensor { return ops.KeepDims(ops.Variance(d, axes...), d, axes...) }
	td, tMean := centered(t, axes)
	pd, pMean := centered(p, axes)
	norm := ops.Add(ops.Add(variance(td), variance(pd)), ops.Square(ops.Subtract(tMean, pMean)))
	covariance := ops.Multiply(ops.Subtract(t, pMean), pd)
	return ops.Mean(ops.Divide(ops.MultiplyScalar(covariance, 2), ops.AddScalar(norm, objectives.Epsilon)), axes...)
}
