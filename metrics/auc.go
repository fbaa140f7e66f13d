package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// AUC is the area under the curve that a classifier traces out as its threshold moves, approximated at NumThresholds
// thresholds -1e-7, 1/(n-1), ..., (n-2)/(n-1), 1+1e-7, or at Thresholds plus these first and last ones. Curves:
//
//	ROC     x = FP/(FP+TN), y = TP/(TP+FN)
//	PR      x = TP/(TP+FN), y = TP/(TP+FP)
//	PRGAIN  x = max(1 - P/N·FN/TP, 0), y = 1 - P/N·FP/TP, with P and N the numbers of positive and negative labels
//
// Between thresholds the area has the mean (interpolation), the smaller (minoring) or the larger (majoring) of the two
// heights; the PR curve is interpolated as Davis and Goadrich do, with TP as a linear function of TP+FP. MultiLabel
// computes one area for each label and averages them, weighted by LabelWeights if given. Without MultiLabel,
// LabelWeights weight the predictions. Name: "auc". Behaviour of keras.metrics.AUC. Sources: Davis, Goadrich, "The
// Relationship Between Precision-Recall and ROC Curves", ICML 2006; Flach, Kull, "Precision-Recall-Gain Curves",
// NeurIPS 2015.
//
// Shapes: labels, where not 0 counts as positive, and predictions in [0, 1], (batch, ...), with MultiLabel (batch,
// labels).
type AUC struct {
	quadruple
	NumThresholds   int       `keras:"num_thresholds,default=200"`             // at least 2; 0 is 200
	Curve           Curve     `keras:"curve,default=ROC"`                      // "ROC", "PR" or "PRGAIN"; "" is ROC
	SummationMethod Summation `keras:"summation_method,default=interpolation"` // "interpolation", "minoring" or "majoring"
	Thresholds      []float64 `keras:"thresholds,null,omitempty"`              // in place of NumThresholds
	MultiLabel      bool      `keras:"multi_label"`
	NumLabels       int       `keras:"num_labels,default=null"` // 0: as many as predictions have
	LabelWeights    []float64 `keras:"label_weights,null"`
	FromLogits      bool      `keras:"from_logits"` // predictions are logits
	Name            string    `keras:"name,default=auc"`
	DType           string    `keras:"dtype,plain,default=float32"`

	confusion confusion
}

// Build implements [Metric].
func (m *AUC) Build(d ir.DType, _, yPred ir.Type) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("metric %q: %w", m.MetricName(), fmt.Errorf(format, args...))
	}
	if !slices.Contains([]string{"", "ROC", "PR", "PRGAIN"}, strings.ToUpper(string(m.Curve))) {
		return fail("unknown curve %q; known: ROC, PR, PRGAIN", m.Curve)
	}
	if !slices.Contains([]string{"", "interpolation", "minoring", "majoring"}, strings.ToLower(string(m.SummationMethod))) {
		return fail("unknown summation method %q; known: interpolation, minoring, majoring", m.SummationMethod)
	}
	if m.NumThresholds == 1 || m.NumThresholds < 0 || m.NumThresholds > maxThresholds {
		return fail("NumThresholds must be between 2 and %d, received %d", maxThresholds, m.NumThresholds)
	}
	if err := checkThresholds(m.Thresholds); err != nil {
		return fail("%w", err)
	}
	if m.NumLabels != 0 && !m.MultiLabel {
		return fail("NumLabels is of use only with MultiLabel")
	}
	if m.MultiLabel {
		if len(yPred.Shape) != 2 || m.NumLabels != 0 && yPred.Shape[1] != m.NumLabels {
			return fail("predictions have shape %v; several labels need (batch, labels) with as many labels as NumLabels (%d) says", yPred.Shape, m.NumLabels)
		}
		if m.LabelWeights != nil && len(m.LabelWeights) != yPred.Shape[1] {
			return fail("received %d label weights for predictions %v", len(m.LabelWeights), yPred.Shape)
		}
	}
	fresh, err := m.Begin(m, m.DType, d)
	if fresh {
		m.setThresholds()
		shape := []int{len(m.confusion.thresholds)}
		if m.MultiLabel {
			shape = append(shape, yPred.Shape[1])
		}
		m.make(shape...)
	}
	return err
}

func (m *AUC) setThresholds() {
	inner := slices.Sorted(slices.Values(m.Thresholds))
	if m.Thresholds == nil {
		n := m.NumThresholds
		if n == 0 {
			n = 200
		}
		all := evenThresholds(n)
		inner = all[1 : n-1]
	}
	m.confusion = confusion{multiLabel: m.MultiLabel}
	m.confusion.even = m.Thresholds == nil || isEven(slices.Concat([]float64{0}, inner, []float64{1}))
	m.confusion.thresholds = slices.Concat([]float64{-objectives.Epsilon}, inner, []float64{1 + objectives.Epsilon})
	if !m.MultiLabel {
		m.confusion.labelWeights = m.LabelWeights
	}
}

// Update implements [Metric].
func (m *AUC) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	inMetric(m, yPred, func() {
		r := m.ready(m, yTrue, yPred)
		if m.FromLogits {
			yPred = ops.Sigmoid(yPred)
		}
		m.add(r, m.confusion.count(yTrue, yPred, sampleWeight, m.dtype))
	})
}

// Result implements [Metric].
func (m *AUC) Result(r *distribute.Replica) *ops.Tensor {
	if m.tp == nil {
		return ops.Zeros(r, ir.Float32)
	}
	c := m.read(r)
	method := strings.ToLower(string(m.SummationMethod))
	curve := strings.ToUpper(string(m.Curve))
	if curve == "PR" && (method == "" || method == "interpolation") {
		return m.average(davisGoadrich(c))
	}
	x, y := curvePoints(curve, c)
	from, to := neighbours(y)
	var heights *ops.Tensor
	switch method {
	case "minoring":
		heights = ops.Minimum(from, to)
	case "majoring":
		heights = ops.Maximum(from, to)
	default:
		heights = ops.MultiplyScalar(ops.Add(from, to), 0.5)
	}
	left, right := neighbours(x)
	return m.average(ops.Multiply(ops.Subtract(left, right), heights))
}

// curvePoints returns the points of a curve at the thresholds.
func curvePoints(curve string, c counts) (x, y *ops.Tensor) {
	recall := ratio(c.tp, c.fn)
	switch curve {
	case "PR":
		return recall, ratio(c.tp, c.fp)
	case "PRGAIN":
		scale := ops.DivideNoNan(ops.Add(c.tp, c.fn), ops.Add(c.tn, c.fp))
		gain := func(wrong *ops.Tensor) *ops.Tensor {
			return ops.Subtract(ops.OnesLike(wrong), ops.Multiply(scale, ops.DivideNoNan(wrong, c.tp)))
		}
		none := ops.CompareScalar(ir.Eq, c.tp, 0)
		x = ops.MaximumScalar(ops.Where(none, ops.ZerosLike(c.tp), gain(c.fn)), 0)
		return x, ops.Where(none, ops.OnesLike(c.tp), gain(c.fp))
	}
	return ratio(c.fp, c.tn), recall
}

// neighbours returns the values at each threshold but the last, and at each but the first.
func neighbours(x *ops.Tensor) (from, to *ops.Tensor) {
	n := x.Dim(0)
	return ops.SliceAxis(x, 0, 0, dim.Sub(n, 1)), ops.SliceAxis(x, 0, 1, n)
}

// davisGoadrich returns the area of the PR curve between neighbouring thresholds. With TP a linear function of the
// predicted positives P = TP+FP, of slope s, the area is ∫ TP/P dTP / positives = s·(ΔTP + (TP - s·P)·ln(P_from/P_to))
// / (TP+FN).
func davisGoadrich(c counts) *ops.Tensor {
	tpFrom, tpTo := neighbours(c.tp)
	pFrom, pTo := neighbours(ops.Add(c.tp, c.fp))
	_, fnTo := neighbours(c.fn)
	rise := ops.Subtract(tpFrom, tpTo)
	slope := ops.DivideNoNan(rise, ops.MaximumScalar(ops.Subtract(pFrom, pTo), 0))
	intercept := ops.Subtract(tpTo, ops.Multiply(slope, pTo))
	both := ops.LogicalAnd(ops.CompareScalar(ir.Gt, pFrom, 0), ops.CompareScalar(ir.Gt, pTo, 0))
	quotient := ops.Where(both, ops.DivideNoNan(pFrom, pTo), ops.OnesLike(pTo))
	area := ops.Multiply(slope, ops.Add(rise, ops.Multiply(intercept, ops.Log(quotient))))
	return ops.DivideNoNan(area, ops.MaximumScalar(ops.Add(tpTo, fnTo), 0))
}

// average sums areas over the thresholds and averages over the labels.
func (m *AUC) average(areas *ops.Tensor) *ops.Tensor {
	if !m.MultiLabel {
		return ops.Sum(areas)
	}
	each := ops.Sum(areas, 0)
	if m.LabelWeights == nil {
		return ops.Mean(each)
	}
	weights := ops.Constant(each, each.DType(), ir.Shape{len(m.LabelWeights)}, m.LabelWeights)
	return ops.DivideNoNan(ops.Sum(ops.Multiply(each, weights)), ops.Sum(weights))
}

// MetricName implements [Metric].
func (m *AUC) MetricName() string { return m.NameOr(m.Name, "auc") }

// Direction implements [Metric].
func (m *AUC) Direction() string { return better }

// Curve is the curve whose area AUC computes. The zero value is ROC. Lower case is accepted too.
type Curve string

const (
	ROC    Curve = "ROC"    // true positive rate over false positive rate
	PR     Curve = "PR"     // precision over recall
	PRGAIN Curve = "PRGAIN" // their gains
)

// Summation is the height of the area between two thresholds. The zero value is Interpolating.
type Summation string

const (
	Interpolating Summation = "interpolation" // the mean of the two heights
	Minoring      Summation = "minoring"      // the smaller
	Majoring      Summation = "majoring"      // the larger
)
