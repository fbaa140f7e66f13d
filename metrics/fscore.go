package metrics

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// FBetaScore combines precision P and recall R,
//
//	(1 + β²)·P·R / (β²·P + R)
//
// with 1e-7 added to every denominator. Predictions count as 1 if they are greater than Threshold. Without a Threshold,
// the largest of each row count as 1 (all of them in a tie), unless they are 0. Average says how the classes are
// combined: "" gives a vector, "micro" counts all classes together, "macro" is their mean, "weighted" their mean
// weighted by the number of labels. Name: "f_beta_score" ("fbeta_score" in logs). Behaviour of
// keras.metrics.FBetaScore.
//
// Shapes: labels, 0 or 1, and predictions (batch, classes); sample weights (batch).
type FBetaScore struct {
	fscore
	Average   Averaging `keras:"average,default=null"` // "", "micro", "macro" or "weighted"
	Beta      float64   `keras:"beta,default=1"`       // positive; 0 is 1
	Threshold *float64  `keras:"threshold"`            // in (0, 1]
	Name      string    `keras:"name,default=fbeta_score"`
	DType     string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *FBetaScore) Build(d ir.DType, yTrue, yPred ir.Type) error {
	if !(m.Beta >= 0) {
		return fmt.Errorf("metric %q: Beta must be positive, received %v", m.MetricName(), m.Beta)
	}
	return m.build(m, m.DType, d, yTrue, yPred, m.Average, m.Threshold)
}

// Update implements [Metric].
func (m *FBetaScore) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, m.Average, m.Threshold)
}

// Result implements [Metric].
func (m *FBetaScore) Result(r *distribute.Replica) *ops.Tensor {
	beta := m.Beta
	if beta == 0 {
		beta = 1
	}
	return m.result(r, m, m.Average, beta)
}

// MetricName implements [Metric].
func (m *FBetaScore) MetricName() string { return m.NameOr(m.Name, "fbeta_score") }

// Direction implements [Metric].
func (m *FBetaScore) Direction() string { return better }

// F1Score is [FBetaScore] with β = 1, the harmonic mean of precision and recall. Name: "f1_score". Behaviour of
// keras.metrics.F1Score.
//
// Shapes: labels, 0 or 1, and predictions (batch, classes); sample weights (batch).
type F1Score struct {
	fscore
	Average   Averaging `keras:"average,default=null"` // "", "micro", "macro" or "weighted"
	Threshold *float64  `keras:"threshold"`            // in (0, 1]
	Name      string    `keras:"name,default=f1_score"`
	DType     string    `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *F1Score) Build(d ir.DType, yTrue, yPred ir.Type) error {
	return m.build(m, m.DType, d, yTrue, yPred, m.Average, m.Threshold)
}

// Update implements [Metric].
func (m *F1Score) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, m.Average, m.Threshold)
}

// Result implements [Metric].
func (m *F1Score) Result(r *distribute.Replica) *ops.Tensor { return m.result(r, m, m.Average, 1) }

// MetricName implements [Metric].
func (m *F1Score) MetricName() string { return m.NameOr(m.Name, "f1_score") }

// Direction implements [Metric].
func (m *F1Score) Direction() string { return better }

// fscore is the state of F-scores: counts for each class, or for all classes together.
type fscore struct {
	Base
	tp, fp, fn, labels *distribute.Variable
}

func (f *fscore) build(m Metric, policy string, d ir.DType, yTrue, yPred ir.Type, average Averaging, threshold *float64) error {
	if !slices.Contains([]Averaging{"", "micro", "macro", "weighted"}, average) {
		return fmt.Errorf("metric %q: unknown average %q; known: \"\" (one value for each class), micro, macro, weighted", m.MetricName(), average)
	}
	if threshold != nil && !(*threshold > 0 && *threshold <= 1) {
		return fmt.Errorf("metric %q: the threshold must be in (0, 1], received %v", m.MetricName(), *threshold)
	}
	if len(yTrue.Shape) != 2 || len(yPred.Shape) != 2 || yTrue.Shape[1] != yPred.Shape[1] {
		return fmt.Errorf("metric %q: labels have shape %v and predictions %v; both must be (batch, classes)", m.MetricName(), yTrue.Shape, yPred.Shape)
	}
	fresh, err := f.Begin(m, policy, d)
	if fresh {
		shape := []int{yPred.Shape[1]}
		if average == "micro" {
			shape = nil
		}
		f.tp, f.fp = f.Add("true_positives", shape...), f.Add("false_positives", shape...)
		f.fn, f.labels = f.Add("false_negatives", shape...), f.Add("intermediate_weights", shape...)
	}
	return err
}

//go:noinline
func (f *fscore) update(m Metric, yTrue, yPred, weight *ops.Tensor, average Averaging, threshold *float64) {
	inMetric(m, yPred, func() {
		r := f.ready(m, yTrue, yPred)
		if !yTrue.Shape().Equal(yPred.Shape()) {
			ops.Failf(yPred.Graph(), "labels have shape %v and predictions %v; both must be (batch, classes)", yTrue.Shape(), yPred.Shape())
		}
		weight = castWeights(weight, f.dtype)
		t, p := ops.Cast(yTrue, f.dtype), ops.Cast(yPred, f.dtype).WithMask(nil)
		p = ops.Cast(positives(p, threshold), f.dtype)
		var axes []int
		if average != "micro" {
			axes = []int{0}
		}
		sum := func(x *ops.Tensor) *ops.Tensor {
			if weight != nil {
				w := weight
				if w.Rank() == 1 {
					w = ops.ExpandDims(w, 1)
				}
				alignWeights(x, w)
				x = ops.Multiply(x, w)
			}
			return ops.Sum(x, axes...)
		}
		not := func(x *ops.Tensor) *ops.Tensor { return ops.Subtract(ops.OnesLike(x), x) }
		r.AssignAdd(f.tp, sum(ops.Multiply(p, t)))
		r.AssignAdd(f.fp, sum(ops.Multiply(p, not(t))))
		r.AssignAdd(f.fn, sum(ops.Multiply(not(p), t)))
		r.AssignAdd(f.labels, sum(t))
	})
}

// positives says which predictions count as 1.
func positives(p *ops.Tensor, threshold *float64) *ops.Tensor {
	if threshold != nil {
		return ops.CompareScalar(ir.Gt, p, *threshold)
	}
	top := ops.KeepDims(ops.Max(p, -1), p, -1)
	return ops.LogicalAnd(ops.GreaterEqual(p, top), ops.CompareScalar(ir.Gt, ops.Abs(p), 1e-9))
}

func (f *fscore) result(r *distribute.Replica, m Metric, average Averaging, beta float64) *ops.Tensor {
	if f.tp == nil {
		notBuilt(r, m)
	}
	s := readAll(r, f.tp, f.fp, f.fn, f.labels)
	share := func(a, b *ops.Tensor) *ops.Tensor { return ops.Divide(a, ops.AddScalar(b, objectives.Epsilon)) }
	precision, recall := share(s[0], ops.Add(s[0], s[1])), share(s[0], ops.Add(s[0], s[2]))
	score := share(ops.Multiply(precision, recall), ops.Add(ops.MultiplyScalar(precision, beta*beta), recall))
	score = ops.MultiplyScalar(score, 1+beta*beta)
	switch average {
	case "weighted":
		return ops.Sum(ops.Multiply(score, share(s[3], ops.Sum(s[3]))))
	case "":
		return score
	}
	return ops.Mean(score)
}

// Averaging says how the values of the classes are combined. The zero value keeps them as a vector.
type Averaging string

const (
	Micro    Averaging = "micro"    // one value of the counts of all classes
	Macro    Averaging = "macro"    // the mean
	Weighted Averaging = "weighted" // the mean, by how many examples each class has
)
