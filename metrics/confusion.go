package metrics

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// never is the score of predictions outside the top k. No threshold is below it.
const never = -1e10

// confusion counts true and false positives and negatives at thresholds.
type confusion struct {
	thresholds []float64 // increasing where even
	// even says that the thresholds are 0, 1/(n-1), ..., 1, give or take 1e-7 at the ends. Predictions are then sorted
	// into buckets.
	even         bool
	multiLabel   bool // count each label (the last axis) apart
	labelWeights []float64
	topK         int  // 0: all
	classID      *int // nil: all
}

// counts are the weighted numbers of this replica's predictions: (thresholds) or, for many labels, (thresholds,
// labels).
type counts struct{ tp, fp, tn, fn *ops.Tensor }

// isEven reports whether thresholds are spaced evenly over [0, 1], by NumPy's allclose with the tolerance 1e-7.
func isEven(thresholds []float64) bool {
	n := len(thresholds)
	if n < 3 {
		return false
	}
	for i, t := range thresholds {
		want := float64(i) / float64(n-1)
		if !(math.Abs(t-want) <= objectives.Epsilon+1e-5*want) {
			return false
		}
	}
	return true
}

// checkThresholds reports thresholds outside [0, 1].
func checkThresholds(thresholds []float64) error {
	for _, t := range thresholds {
		if !(t >= 0 && t <= 1) {
			return fmt.Errorf("thresholds must be in [0, 1], received %v", thresholds)
		}
	}
	return nil
}

// checkGiven is checkThresholds for metrics that have no other thresholds: a list that is given must not be empty.
func checkGiven(thresholds []float64) error {
	if thresholds != nil && len(thresholds) == 0 {
		return errors.New("thresholds are empty; expected at least one, or nil for 0.5")
	}
	return checkThresholds(thresholds)
}

// count counts the predictions of a batch in element type d.
func (c confusion) count(yTrue, yPred, weight *ops.Tensor, d ir.DType) counts {
	p, t := objectives.Match(ops.Cast(yPred, d).WithMask(nil), ops.Cast(yTrue, d))
	if !t.Shape().Equal(p.Shape()) || p.Rank() == 0 {
		ops.Failf(p.Graph(), "labels have shape %v and predictions %v; they must be equal, (batch, ...)", yTrue.Shape(), yPred.Shape())
	}
	if c.multiLabel && p.Rank() != 2 {
		ops.Failf(p.Graph(), "predictions have shape %v; several labels need (batch, labels)", p.Shape())
	}
	weight = castWeights(weight, d)
	if c.topK > 0 {
		p = onlyTop(p, c.topK)
	}
	if c.classID != nil {
		id := *c.classID
		if p.Rank() < 2 || id < 0 || !dim.Less(id, p.Dim(-1)) {
			ops.Failf(p.Graph(), "class %d cannot be picked from predictions %v; expected (batch, classes) with that class", id, p.Shape())
		}
		t, p = ops.SliceAxis(t, -1, id, id+1), ops.SliceAxis(p, -1, id, id+1)
	}
	weight = c.weights(p, weight)
	t = ops.Cast(ops.Cast(t, ir.Bool), d)
	if c.even {
		return c.buckets(t, p, weight)
	}
	return c.compare(t, p, weight)
}

// castWeights converts weights, which may be nil, to a type. Metrics that are not means of values use only the weights:
// as in Keras, a mask of the predictions has no effect on them.
func castWeights(weight *ops.Tensor, d ir.DType) *ops.Tensor {
	if weight == nil {
		return nil
	}
	return ops.Cast(weight, d)
}

// weights spreads sample weights and label weights over the predictions; nil if all are 1.
func (c confusion) weights(p, weight *ops.Tensor) *ops.Tensor {
	if weight != nil {
		if weight.Rank() == p.Rank()+1 && weight.Dim(-1) == 1 {
			weight = ops.Squeeze(weight, -1)
		}
		alignWeights(p, weight)
		for weight.Rank() < p.Rank() {
			weight = ops.ExpandDims(weight, -1)
		}
		weight = ops.BroadcastTo(weight, p.Shape()...)
	}
	if c.labelWeights != nil {
		if p.Rank() < 2 || p.Dim(-1) != len(c.labelWeights) {
			ops.Failf(p.Graph(), "received %d label weights for predictions %v; expected one for each label of the last axis", len(c.labelWeights), p.Shape())
		}
		labels := ops.BroadcastTo(ops.Constant(p, p.DType(), ir.Shape{len(c.labelWeights)}, c.labelWeights), p.Shape()...)
		if weight != nil {
			labels = ops.Multiply(weight, labels)
		}
		weight = labels
	}
	return weight
}

// onlyTop leaves the k largest scores of each row; the others become never.
func onlyTop(p *ops.Tensor, k int) *ops.Tensor {
	if dim.Less(p.Dim(-1), k) {
		ops.Failf(p.Graph(), "TopK is %d, but predictions %v have %d classes", k, p.Shape(), p.Dim(-1))
	}
	_, index := ops.TopK(p, k)
	top := ops.Sum(ops.OneHot(index, p.Dim(-1), p.DType()), -2)
	return ops.Where(ops.CompareScalar(ir.Ne, top, 0), p, ops.FullLike(p, never))
}

// buckets counts by sorting predictions into the intervals between thresholds: those above threshold i are in bucket i
// or later. A prediction equal to a threshold counts as below it.
func (c confusion) buckets(t, p, weight *ops.Tensor) counts {
	n := len(c.thresholds)
	labels := 1
	if c.multiLabel {
		labels = p.Dim(1)
		ops.Fixed(p, "a metric of several labels", labels)
	}
	size := p.Shape().Size()
	flat := func(x *ops.Tensor) *ops.Tensor { return ops.Reshape(x, size) }
	bucket := ops.SubtractScalar(ops.Ceil(ops.MultiplyScalar(ops.Clip(p, 0, 1), float64(n-1))), 1)
	if c.thresholds[0] < 0 || c.thresholds[n-1] > 1 {
		bucket = ops.Relu(bucket) // even 0 is above the first threshold
	}
	bucket = ops.Cast(bucket, ir.Int32)
	if labels > 1 { //dim:known
		place := ops.AddScalar(ops.MultiplyScalar(bucket, float64(labels)), 0) //dim:known
		place = ops.Add(place, ops.Iota(p, ir.Int32, 1, p.Shape()...))
		bucket = ops.Where(ops.CompareScalar(ir.Lt, bucket, 0), ops.FullLike(bucket, -1), place)
	}
	positive, negative := t, ops.Subtract(ops.OnesLike(t), t)
	if weight != nil {
		positive, negative = ops.Multiply(positive, weight), ops.Multiply(negative, weight)
	}
	above := func(x *ops.Tensor) *ops.Tensor {
		sums := ops.Reshape(ops.SegmentSum(flat(x), flat(bucket), n*labels), n, labels) //dim:known
		return c.shape(ops.Flip(ops.Cumsum(ops.Flip(sums, 0), 0), 0))
	}
	total := func(x *ops.Tensor) *ops.Tensor {
		if c.multiLabel {
			return ops.Sum(x, 0)
		}
		return ops.Sum(x)
	}
	tp, fp := above(positive), above(negative)
	return counts{tp, fp, ops.Subtract(total(negative), fp), ops.Subtract(total(positive), tp)}
}

// shape removes the axis of the labels if labels are not counted separately.
func (c confusion) shape(x *ops.Tensor) *ops.Tensor {
	if c.multiLabel {
		return x
	}
	return ops.Reshape(x, x.Dim(0))
}

// compare counts by comparing every prediction with every threshold.
func (c confusion) compare(t, p, weight *ops.Tensor) counts {
	n := len(c.thresholds)
	wide := func(x *ops.Tensor) *ops.Tensor {
		if c.multiLabel {
			return ops.ExpandDims(x, 0)
		}
		return ops.Reshape(x, 1, x.Shape().Size())
	}
	limits := ops.Constant(p, p.DType(), ir.Shape{n}, c.thresholds)
	shape := ints.Repeat(1, wide(p).Rank())
	shape[0] = n
	above := ops.Cast(ops.Greater(wide(p), ops.Reshape(limits, shape...)), p.DType())
	below := ops.Subtract(ops.OnesLike(above), above)
	positive, negative := wide(t), ops.Subtract(ops.OnesLike(wide(t)), wide(t))
	if weight != nil {
		positive, negative = ops.Multiply(positive, wide(weight)), ops.Multiply(negative, wide(weight))
	}
	sum := func(a, b *ops.Tensor) *ops.Tensor { return ops.Sum(ops.Multiply(a, b), 1) }
	return counts{sum(above, positive), sum(above, negative), sum(below, negative), sum(below, positive)}
}

// ratio returns a/(a+b), or 0 if both are 0.
func ratio(a, b *ops.Tensor) *ops.Tensor { return ops.DivideNoNan(a, ops.Add(a, b)) }

// only returns the element of a vector of length 1 as a scalar, and other vectors unchanged.
func only(x *ops.Tensor) *ops.Tensor {
	if x.Rank() == 1 && x.Dim(0) == 1 {
		return ops.Index(x, 0, 0)
	}
	return x
}

// quadruple is the state of metrics that need all four counts.
type quadruple struct {
	Base
	tp, fp, tn, fn *distribute.Variable
}

func (q *quadruple) make(shape ...int) {
	q.tp, q.fp = q.Add("true_positives", shape...), q.Add("false_positives", shape...)
	q.tn, q.fn = q.Add("true_negatives", shape...), q.Add("false_negatives", shape...)
}

func (q *quadruple) add(r *distribute.Replica, c counts) {
	r.AssignAdd(q.tp, c.tp)
	r.AssignAdd(q.fp, c.fp)
	r.AssignAdd(q.tn, c.tn)
	r.AssignAdd(q.fn, c.fn)
}

func (q *quadruple) read(r *distribute.Replica) counts {
	sums := readAll(r, q.tp, q.fp, q.tn, q.fn)
	return counts{sums[0], sums[1], sums[2], sums[3]}
}
