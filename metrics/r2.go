package metrics

import (
	"encoding/json"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// How [R2Score] combines its outputs. The zero value (nil) is UniformAverage.
const (
	UniformAverage          = "uniform_average"           // the mean
	VarianceWeightedAverage = "variance_weighted_average" // the mean weighted with the variances of the labels
	NoAggregation           = "none"                      // one value for each output
)

// R2Score is the coefficient of determination of each output,
//
//	1 - Σ w·(t-p)² / (Σ w·t² - (Σ w·t)²/Σ w)
//
// It is 1 for predictions without errors, 0 for predictions no better than the mean, and 0 instead of minus infinity.
// With NumRegressors k > 0 it is adjusted to 1 - (1-r)·(n-1)/(n-k-1), where n is the number of labels seen (of all
// outputs, as in Keras), if n-1 exceeds k. Name: "r2_score". Behaviour of keras.metrics.R2Score.
//
// Shapes: labels and predictions (batch, outputs).
type R2Score struct {
	Base
	ClassAggregation any    `keras:"class_aggregation,default=uniform_average"` // a string, one of the constants; nil is UniformAverage
	NumRegressors    int    `keras:"num_regressors"`
	Name             string `keras:"name,default=r2_score"`
	DType            string `keras:"dtype,plain,default=float32"`

	samples, squares, sum, residual, count *distribute.Variable
}

func init() {
	config.RegisterKindWith("class_aggregation", func(v any) (any, error) { _, err := aggregation(v); return v, err }, func(v any) (any, error) {
		if v == NoAggregation {
			return nil, nil
		}
		return v, nil
	})
}

func aggregation(v any) (string, error) {
	switch v {
	case nil:
		return UniformAverage, nil
	case UniformAverage, VarianceWeightedAverage, NoAggregation:
		return v.(string), nil
	}
	return "", fmt.Errorf("unknown class aggregation %v; known: %s, %s, %s", v, UniformAverage, VarianceWeightedAverage, NoAggregation)
}

// MigrateConfig reads null as no aggregation.
func (m *R2Score) MigrateConfig(c map[string]json.RawMessage) error {
	if string(c["class_aggregation"]) == "null" {
		c["class_aggregation"] = json.RawMessage(`"` + NoAggregation + `"`)
	}
	return nil
}

// Build implements [Metric].
func (m *R2Score) Build(d ir.DType, yTrue, yPred ir.Type) error {
	if _, err := aggregation(m.ClassAggregation); err != nil {
		return fmt.Errorf("metric %q: %w", m.MetricName(), err)
	}
	if m.NumRegressors < 0 {
		return fmt.Errorf("metric %q: NumRegressors must not be negative, received %d", m.MetricName(), m.NumRegressors)
	}
	if len(yPred.Shape) != 2 {
		return fmt.Errorf("metric %q: labels have shape %v and predictions %v; both must be (batch, outputs)", m.MetricName(), yTrue.Shape, yPred.Shape)
	}
	fresh, err := m.Begin(m, m.DType, d)
	if fresh {
		n := yPred.Shape[1]
		m.samples = m.Add("num_samples")
		m.squares, m.sum = m.Add("squared_sum", n), m.Add("sum", n)
		m.residual, m.count = m.Add("residual", n), m.Add("count", n)
	}
	return err
}

// Update implements [Metric].
func (m *R2Score) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	inMetric(m, yPred, func() {
		r := m.ready(m, yTrue, yPred)
		t, p := sameShape(ops.Cast(yTrue, m.dtype), ops.Cast(yPred, m.dtype).WithMask(nil))
		w := castWeights(sampleWeight, m.dtype)
		residual, weighted := ops.Square(ops.Subtract(t, p)), t
		count := ops.BroadcastTo(ops.Length(r, m.dtype, t.Dim(0)), t.Dim(1))
		if w != nil {
			if w.Rank() == 1 {
				w = ops.ExpandDims(w, 1)
			}
			alignWeights(t, w)
			w = ops.BroadcastTo(w, t.Shape()...)
			residual, weighted, count = ops.Multiply(residual, w), ops.Multiply(t, w), ops.Sum(w, 0)
		}
		r.AssignAdd(m.sum, ops.Sum(weighted, 0))
		r.AssignAdd(m.squares, ops.Sum(ops.Multiply(t, weighted), 0))
		r.AssignAdd(m.residual, ops.Sum(residual, 0))
		r.AssignAdd(m.count, count)
		labels := ops.Length(r, m.dtype, t.Shape().Size())
		if rows := r.RowWeights(); rows != nil {
			labels = ops.Cast(ops.MultiplyByLength(ops.Sum(rows), t.Dim(1)), m.dtype)
		}
		r.AssignAdd(m.samples, labels)
	})
}

// Result implements [Metric].
func (m *R2Score) Result(r *distribute.Replica) *ops.Tensor {
	if m.sum == nil {
		notBuilt(r, m)
	}
	s := readAll(r, m.squares, m.sum, m.residual, m.count, m.samples)
	total := ops.Subtract(s[0], ops.Multiply(s[1], ops.Divide(s[1], s[3])))
	score := ops.Subtract(ops.OnesLike(total), ops.Divide(s[2], total))
	score = ops.Where(ops.Isinf(score), ops.ZerosLike(score), score)
	kind, err := aggregation(m.ClassAggregation)
	if err != nil {
		ops.Fail(r.Graph(), err)
	}
	switch kind {
	case UniformAverage:
		score = ops.Mean(score)
	case VarianceWeightedAverage:
		score = ops.Divide(ops.Sum(ops.Multiply(total, score)), ops.Sum(total))
	}
	if k := float64(m.NumRegressors); k > 0 {
		n := s[4]
		free := ops.SubtractScalar(n, k+1)
		lost := ops.Divide(ops.Multiply(ops.Subtract(ops.OnesLike(score), score), ops.SubtractScalar(n, 1)), free)
		score = ops.Where(ops.CompareScalar(ir.Gt, free, 0), ops.Subtract(ops.OnesLike(lost), lost), score)
	}
	return score
}

// MetricName implements [Metric].
func (m *R2Score) MetricName() string { return m.NameOr(m.Name, "r2_score") }

// Direction implements [Metric].
func (m *R2Score) Direction() string { return better }
