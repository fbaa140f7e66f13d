package exec

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// SumGradients adds up the gradients of all replicas, in buckets of [Placement].BytesPerPack. The gradients of the last
// weights are ready first, so buckets are filled from the back. The gradient of an embedding is sent as the rows that
// the batch touches, if these are less than the table: the rows of all replicas are joined, and each replica adds them
// up.
func (r *Replica) SumGradients(grads []*ops.Tensor) []*ops.Tensor {
	r.inReplica("SumGradients")
	if r.replicas == 1 || r.skipSum {
		return grads
	}
	limit := placementOf(r.strategy).bytesPerPack()
	out := make([]*ops.Tensor, len(grads))
	var bucket []int
	bytes := 0
	flush := func() {
		slices.Reverse(bucket)
		parts := make([]*ops.Tensor, len(bucket))
		for k, i := range bucket {
			parts[k] = grads[i]
		}
		for k, sum := range r.allReduce(ir.Sum, parts...) {
			out[bucket[k]] = sum
		}
		bucket, bytes = nil, 0
	}
	for i := len(grads) - 1; i >= 0; i-- {
		if out[i] = r.sumSparse(grads[i]); out[i] != nil {
			continue
		}
		n := grads[i].Type().Bytes()
		if len(bucket) > 0 && bytes+n > limit {
			flush()
		}
		bucket = append(bucket, i)
		bytes += n
	}
	flush()
	return out
}

// WithoutAggregation runs f, in which optimizers take their gradients unchanged instead of summing them over the
// replicas: for gradients that are already summed, or for replicas that differ on purpose. (It is TensorFlow's
// skip_gradients_aggregation.) It is not possible with central storage, which has one copy of each variable.
func (r *Replica) WithoutAggregation(f func()) {
	if at := placementOf(r.strategy); at != nil && at.Central && r.replicas > 1 {
		ops.Failf(r.graph, "%v keeps one copy of each variable, so gradients must be summed over the replicas; use a Mirrored strategy to skip that", r.strategy)
	}
	if r.ShardsState() {
		ops.Failf(r.graph, "%v shards the state of optimizers, so gradients must be summed over the replicas; leave ShardOptimizerState out to skip that", r.strategy)
	}
	outer := r.skipSum
	r.skipSum = true
	defer func() { r.skipSum = outer }()
	f()
}

// sumSparse sums a gradient that consists of rows. It returns nil if the gradient does not, or if all of it is less to
// send.
func (r *Replica) sumSparse(g *ops.Tensor) *ops.Tensor {
	table, indices, rows, ok := ops.EmbeddingGradient(g)
	if !ok || indices.Rank() == 0 || indices.Dim(0) != r.local {
		return nil
	}
	if r.strategy == nil && r.local*r.replicas != r.global {
		return nil // the other replicas may have parts of other, unknown sizes
	}
	width := rows.Dim(-1)
	total := indices.Shape()[1:].Size() * r.global
	if total*(width*rows.DType().Size()+indices.DType().Size()) >= g.Type().Bytes() {
		return nil
	}
	n := indices.Shape().Size()
	all := r.joined(IndexedSlices{ops.Reshape(indices, n), ops.Reshape(rows, n, width), g.Shape()})
	return ops.EmbeddingGrad(table, all.Indices, all.Values)
}
