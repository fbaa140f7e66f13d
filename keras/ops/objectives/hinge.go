package objectives

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Hinge returns mean(max(1 - t·p, 0)). Labels that are all 0 or 1, throughout the global batch, are turned into -1 and
// 1 first.
func Hinge(b Batch, yTrue, yPred *ops.Tensor) *ops.Tensor {
	return meanLast(hinge(b, yTrue, yPred))
}

// SquaredHinge returns mean(max(1 - t·p, 0)²); labels as for [Hinge].
func SquaredHinge(b Batch, yTrue, yPred *ops.Tensor) *ops.Tensor {
	return meanLast(ops.Square(hinge(b, yTrue, yPred)))
}

func hinge(b Batch, yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	binary := ops.All(ops.LogicalOr(ops.CompareScalar(ir.Eq, t, 0), ops.CompareScalar(ir.Eq, t, 1)))
	everywhere := b.AllReduce(ir.Min, ops.Cast(binary, ir.Int32))[0]
	t = ops.Where(ops.CompareScalar(ir.Ne, everywhere, 0), ops.SubtractScalar(ops.MultiplyScalar(t, 2), 1), t)
	return ops.MaximumScalar(ops.Subtract(ops.OnesLike(t), ops.Multiply(t, p)), 0)
}

// CategoricalHinge returns max(max((1-t)·p) - Σ t·p + 1, 0) with one-hot labels t.
func CategoricalHinge(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	positive := ops.Sum(ops.Multiply(t, p), -1)
	negative := ops.Max(ops.Multiply(ops.Subtract(ops.OnesLike(t), t), p), -1)
	return ops.MaximumScalar(ops.AddScalar(ops.Subtract(negative, positive), 1), 0)
}
