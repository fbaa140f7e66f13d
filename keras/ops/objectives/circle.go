package objectives

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Circle returns, for embeddings p (batch, features) of length 1 and integer labels t (batch), the circle loss of each
// example against all examples of the global batch:
//
//	softplus(logsumexp_pos(-gamma·max(margin + d, 0)·(margin - d)) + logsumexp_neg(gamma·max(1 + margin - d, 0)·(1 - margin - d)))
//
// with the cosine distance d = max(1 - p·p', 0) to an example of the same (pos) or another (neg) label. An example does
// not count as its own partner unless keepDiagonal is set. The result has the examples of this replica and carries the
// mask of those above 0. Source: Sun et al., "Circle Loss", CVPR 2020, equation 6.
func Circle(b Batch, yTrue, yPred *ops.Tensor, gamma, margin float64, keepDiagonal bool) *ops.Tensor {
	p := floats(yPred)
	t := ops.Cast(yTrue, ir.Int32)
	if t.Rank() == 2 && t.Dim(1) == 1 {
		t = ops.Squeeze(t, 1)
	}
	if p.Rank() != 2 || t.Rank() != 1 || t.Dim(0) != p.Dim(0) {
		ops.Failf(p.Graph(), "labels have shape %v and predictions %v; expected class numbers (batch) and embeddings (batch, features)", yTrue.Shape(), yPred.Shape())
	}
	all, labels, own := p, t, ops.Arange(p, ir.Int32, t.Dim(0))
	places := own
	if b.NumReplicasInSync() > 1 {
		all, labels = Join(b, p), Join(b, t)
		places = ops.Arange(p, ir.Int32, labels.Dim(0))
		own = ops.Add(own, firstOf(b, p))
	}
	distance := ops.MaximumScalar(ops.Subtract(ops.Scalar(p, 1), ops.Matmul(p, ops.Transpose(all))), 0)
	same := ops.Equal(ops.ExpandDims(t, 1), ops.ExpandDims(labels, 0))
	other := ops.LogicalNot(same)
	if !keepDiagonal {
		same = ops.LogicalAnd(same, ops.NotEqual(ops.ExpandDims(own, 1), ops.ExpandDims(places, 0)))
	}
	// scores is gamma · max(optimum, 0) · difference where mask holds.
	scores := func(mask, optimum, difference *ops.Tensor, sign float64) *ops.Tensor {
		weight := ops.MaximumScalar(ops.Where(mask, optimum, ops.ZerosLike(optimum)), 0)
		weighted := ops.MultiplyScalar(ops.Multiply(weight, difference), sign*gamma)
		return ops.Logsumexp(ops.Where(mask, weighted, ops.FullLike(weighted, math.Inf(-1))), 1)
	}
	minus := func(x float64) *ops.Tensor { return ops.Subtract(ops.Scalar(p, x), distance) }
	positive := scores(same, ops.AddScalar(distance, margin), minus(margin), -1)
	negative := scores(other, minus(1+margin), minus(1-margin), 1)
	loss := ops.Softplus(ops.Add(positive, negative))
	return loss.WithMask(ops.CompareScalar(ir.Gt, loss, 0))
}

// firstOf is the place of this replica's first example in the global batch.
func firstOf(b Batch, t ops.Traced) *ops.Tensor {
	n := b.NumReplicasInSync()
	sizes := ops.MultiplyByLength(ops.OneHot(b.ID(), n, ir.Int32), b.LocalBatchSize())
	sizes = b.AllReduce(ir.Sum, sizes)[0]
	before := ops.Cast(ops.Less(ops.Arange(t, ir.Int32, n), b.ID()), ir.Int32)
	return ops.Sum(ops.Multiply(sizes, before))
}
