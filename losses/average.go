package losses

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ComputeAverage returns this replica's part of the mean loss of the global batch, for custom training loops:
//
//	Σ perExample / globalBatch
//
// perExample holds the losses of this replica's examples, (batch) or (batch, ...). If an example has several values,
// they are added up; take their mean first if you want the mean. The parts of all replicas add up to the mean over the
// examples, even if replicas have different numbers of examples, or none. globalBatch is the number of examples on all
// replicas, usually r.GlobalBatchSize(); 0 gives 0. It must be called in replica context. It is
// tf.nn.compute_average_loss.
func ComputeAverage(perExample *ops.Tensor, globalBatch int) *ops.Tensor {
	return ComputeWeightedAverage(perExample, nil, globalBatch)
}

// ComputeWeightedAverage is [ComputeAverage] with sample weights, one for each example or one for each value, that
// multiply the losses. The divisor is still the number of examples, not the sum of the weights. nil means that all
// weights are 1.
func ComputeWeightedAverage(perExample, sampleWeight *ops.Tensor, globalBatch int) *ops.Tensor {
	g := perExample.Graph()
	inReplica(g, "ComputeAverage")
	if perExample.Rank() == 0 {
		ops.Failf(g, "ComputeAverage needs the losses of the examples, (batch) or (batch, ...), received a scalar; use a loss that is not reduced, PerExample")
	}
	if globalBatch < 0 {
		ops.Failf(g, "ComputeAverage: the global batch size is %d; expected 0 or more", globalBatch)
	}
	if !perExample.DType().IsFloat() {
		perExample = ops.Cast(perExample, ir.Float32)
	}
	values := objectives.OnlyRows(batchOf(perExample), perExample)
	if sampleWeight != nil {
		w := ops.Cast(sampleWeight, perExample.DType())
		for w.Rank() > 0 && w.Rank() < perExample.Rank() && w.Dim(0) == perExample.Dim(0) {
			w = ops.ExpandDims(w, -1)
		}
		checkWeights(perExample, w, false)
		values = ops.Multiply(values, w)
	}
	if globalBatch == 0 {
		return ops.MultiplyScalar(ops.Sum(values), 0)
	}
	return ops.DivideScalar(ops.Sum(values), float64(globalBatch))
}

// ScaleRegularization returns this replica's part of a regularization loss, Σ loss / replicas, so that the sum over the
// replicas contains the loss once. It must be called in replica context. (It is tf.nn.scale_regularization_loss.)
func ScaleRegularization(loss *ops.Tensor) *ops.Tensor {
	replicas := inReplica(loss.Graph(), "ScaleRegularization")
	return ops.DivideScalar(ops.Sum(loss), float64(replicas))
}

// inReplica returns the number of replicas. It fails in cross-replica context.
func inReplica(g *ops.Graph, what string) int {
	r, ok := g.Root().Owner().(*distribute.Replica)
	if !ok {
		return 1
	}
	if r.InCrossReplicaContext() {
		ops.Failf(g, "%s was called in cross-replica context; call it in replica context, outside the function of MergeCall", what)
	}
	return r.NumReplicasInSync()
}
