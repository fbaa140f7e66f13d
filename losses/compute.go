package losses

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Compute returns this replica's part of the loss, a scalar: the parts of all replicas add up to the loss of the global
// batch.
//
// The values l of the examples are multiplied by w = sampleWeight (1 if nil) and by the mask, if the predictions or the
// values have one. Then the result is
//
//	SumOverBatchSize, Mean: Σ w·l / number of values (with a mask: of the values that it lets through)
//	Sum, None:              Σ w·l
//	MeanWithSampleWeight:   Σ w·l / Σ w
//
// where the numbers and Σ w are taken over all replicas. If the weights add up to 0, or if the mask lets nothing
// through, the result is 0.
//
// sampleWeight has one weight for each example (batch) or (batch, 1), or one for each value. Weights (batch) for values
// (batch, steps) are an error, as in Keras; make them (batch, 1).
func Compute(l Loss, yTrue, yPred, sampleWeight *ops.Tensor) *ops.Tensor {
	total, _ := ComputeAndReport(l, yTrue, yPred, sampleWeight)
	return total
}

// ComputeAndReport returns what Compute does, and this replica's part of the number that Keras reports for it. They
// differ only for the reduction None: the training step follows the gradient of Σ w·l, but Keras reports the mean, Σ
// w·l / number of values.
func ComputeAndReport(l Loss, yTrue, yPred, sampleWeight *ops.Tensor) (total, reported *ops.Tensor) {
	g := graphOf(l, yPred)
	g.Enter(l.LossName())
	defer g.Leave()
	w := weigh(l, l.ReductionKind(), yTrue, yPred, sampleWeight)
	total = reduce(w)
	if w.reduction != None || w.values.Rank() == 0 {
		return total, total
	}
	if !dim.AllKnown(w.values.Shape()) {
		return total, ops.DivideByLength(total, w.values.Shape().Size())
	}
	return total, ops.DivideScalar(total, max(w.count(w.values.Shape()), 1))
}

// Values returns the weighted values of the examples without reducing them, whatever reduction l has. It is what
// Keras's losses return for the reduction "none".
func Values(l Loss, yTrue, yPred, sampleWeight *ops.Tensor) *ops.Tensor {
	g := graphOf(l, yPred)
	g.Enter(l.LossName())
	w := weigh(l, None, yTrue, yPred, sampleWeight) // whatever the reduction of l: a mask is 1 and 0
	g.Leave()
	return w.values
}

// graphOf returns the graph of the predictions. It fails if there is no loss.
func graphOf(l Loss, yPred *ops.Tensor) *ops.Graph {
	if l == nil {
		ops.Failf(nil, "the loss is nil; pass one of package losses")
	}
	return yPred.Graph()
}

// weighted holds the values that a loss reduces.
type weighted struct {
	batch     objectives.Batch
	reduction Reduction
	values    *ops.Tensor // w·l
	weights   *ops.Tensor // nil where all are 1
	shared    bool        // values are those of the global batch, the same on all replicas
}

func weigh(l Loss, reduction Reduction, yTrue, yPred, sampleWeight *ops.Tensor) weighted {
	out := weighted{batch: batchOf(yPred), reduction: reduction.known(yPred.Graph())}
	if s, ok := l.(wholeBatch); ok {
		out.shared = s.reducesBatch(yPred.Shape())
	}
	d := computeType(l, yPred)
	mask := yPred.Mask()
	yPred = ops.Cast(yPred, d)
	if yTrue.DType().IsFloat() {
		yTrue = ops.Cast(yTrue, d)
	}
	values := l.PerExample(yTrue, yPred)
	if m := values.Mask(); m != nil {
		if mask != nil {
			m = ops.LogicalAnd(m, mask)
		}
		mask = m
	}
	values = objectives.OnlyRows(out.batch, ops.Cast(values, d).WithMask(nil))
	if values.Rank() == 0 || out.shared {
		objectives.NoFilling(out.batch, values, "a loss of the whole batch")
	}
	if sampleWeight != nil {
		out.weights = objectives.OnlyRows(out.batch, ops.Cast(sampleWeight, d))
		if out.shared && sampleWeight.Rank() > 0 {
			out.weights = objectives.Join(out.batch, out.weights)
		}
	}
	if mask != nil {
		out.weights = out.maskWeights(mask, d)
	}
	out.values = values
	if out.weights != nil {
		values, out.weights = objectives.Match(values, out.weights)
		checkWeights(values, out.weights, sampleWeight == nil)
		out.values = ops.Multiply(values, out.weights)
	}
	return out
}

// computeType is the type in which a loss is computed.
func computeType(l Loss, yPred *ops.Tensor) ir.DType {
	if t, ok := l.(typed); ok && t.dtype() != "" {
		p, err := ops.ParseDTypePolicy(t.dtype())
		if err != nil {
			ops.Fail(yPred.Graph(), err)
		}
		return p.Compute
	}
	if yPred.DType() == ir.Float64 {
		return ir.Float64
	}
	return ir.Float32
}

// maskWeights multiplies the weights by the mask, which is 1 and 0. For an average it is total/valid and 0 instead, so
// that dividing by the number of all values gives the mean of the valid ones.
func (w weighted) maskWeights(mask *ops.Tensor, d ir.DType) *ops.Tensor {
	weight := objectives.OnlyRows(w.batch, ops.Cast(mask, d))
	if w.reduction.averages() {
		valid := w.batch.AllReduce(ir.Sum, ops.Sum(weight))[0]
		weight = ops.Multiply(weight, ops.DivideNoNan(w.number(weight, mask.Shape()), valid))
	}
	if w.weights == nil {
		return weight
	}
	weight, own := objectives.Match(weight, w.weights)
	if !(weight.Rank() == own.Rank() && own.Rank() > 0) { // axes of 1 of either one fit any length of the other
		checkWeights(weight, own, false)
	}
	return ops.Multiply(weight, own)
}

// number returns count as a scalar of the type of x. Programs with open axes run on one replica.
func (w weighted) number(x *ops.Tensor, s ir.Shape) *ops.Tensor {
	if !dim.AllKnown(s) {
		return ops.Length(x, x.DType(), s.Size())
	}
	return ops.Scalar(x, w.count(s))
}

// count returns the number of elements of a shape (batch, ...) over all replicas.
//
//dim:known losses are traced for the batch at hand
func (w weighted) count(s ir.Shape) float64 {
	n := float64(s.Size())
	if w.shared || len(s) == 0 || w.batch.LocalBatchSize() == w.batch.GlobalBatchSize() {
		return n
	}
	if local := w.batch.LocalBatchSize(); local > 0 {
		return n * float64(w.batch.GlobalBatchSize()) / float64(local)
	}
	return 1 // nothing here: the quotient is 0, whatever the divisor
}

// checkWeights makes sure that weights have the axes of the values that they belong to. Broadcasting as in NumPy would
// align (batch) with the steps. masked says that the weights are only a mask.
func checkWeights(values, weights *ops.Tensor, masked bool) {
	v, w := values.Shape(), weights.Shape()
	ok := len(w) == 0 || len(v) == 0 || len(w) == len(v)
	if ok {
		s, err := ir.BroadcastShapes(v, w)
		ok = err == nil && (len(v) == 0 || s.Equal(v))
	}
	if !ok && masked {
		ops.Failf(values.Graph(), "the mask of the predictions has shape %v and the losses of the examples %v; expected the shape of the losses: give the labels all axes of the predictions", w, v)
	}
	if !ok {
		ops.Failf(values.Graph(), "sample weights have shape %v and the losses of the examples %v; expected one weight for each example (%s) or the shape of the losses", w, v, perExample(v))
	}
}

func perExample(v ir.Shape) string {
	s := ir.Shape{v[0]}
	for range v[1:] {
		s = append(s, 1)
	}
	return fmt.Sprint(s)
}

// reduce reduces the weighted values of this replica to its part of the loss.
func reduce(w weighted) *ops.Tensor {
	sum := ops.Sum(w.values)
	switch {
	case w.shared: // each replica contributes an equal part of what all have
		if w.values.Rank() > 0 {
			sum = w.divide(sum)
		}
		return ops.DivideScalar(sum, float64(w.batch.NumReplicasInSync()))
	case w.values.Rank() == 0: // a number for the local batch counts for its share of the global one
		return w.share(sum)
	}
	return w.divide(sum)
}

// share returns x times the local batch's share of the global batch. The mean of an empty batch, which is NaN, counts
// as 0.
//
//dim:known losses are traced for the batch at hand
func (w weighted) share(x *ops.Tensor) *ops.Tensor {
	local, global := w.batch.LocalBatchSize(), w.batch.GlobalBatchSize()
	switch local {
	case 0:
		return ops.Where(ops.Zeros(x, ir.Bool), x, ops.ZerosLike(x)) // keeps the path of the gradients
	case global:
		return x
	}
	return ops.MultiplyScalar(x, float64(local)/float64(global))
}

func (w weighted) divide(sum *ops.Tensor) *ops.Tensor {
	switch {
	case w.reduction == MeanWithSampleWeight && w.weights != nil:
		total := ops.Sum(w.weights)
		if !w.shared {
			total = w.batch.AllReduce(ir.Sum, total)[0]
		}
		return ops.DivideNoNan(sum, total)
	case w.reduction == Sum || w.reduction == None:
		return sum
	}
	if s := w.values.Shape(); !dim.AllKnown(s) {
		return ops.DivideByLength(sum, s.Size())
	}
	if n := w.count(w.values.Shape()); n > 0 {
		return ops.DivideScalar(sum, n)
	}
	return sum
}
