package objectives

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MeanSquaredError returns mean((t-p)²).
func MeanSquaredError(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	return meanLast(ops.Square(ops.Subtract(t, p)))
}

// MeanAbsoluteError returns mean(|t-p|).
func MeanAbsoluteError(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	return meanLast(ops.Abs(ops.Subtract(t, p)))
}

// MeanAbsolutePercentageError returns 100 · mean(|t-p| / max(|t|, ε)).
func MeanAbsolutePercentageError(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	relative := ops.Divide(ops.Subtract(t, p), ops.MaximumScalar(ops.Abs(t), Epsilon))
	return ops.MultiplyScalar(meanLast(ops.Abs(relative)), 100)
}

// MeanSquaredLogarithmicError returns mean((ln(max(p, ε) + 1) - ln(max(t, ε) + 1))²).
func MeanSquaredLogarithmicError(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	log := func(x *ops.Tensor) *ops.Tensor { return ops.Log(ops.AddScalar(ops.MaximumScalar(x, Epsilon), 1)) }
	return meanLast(ops.Square(ops.Subtract(log(p), log(t))))
}

// Huber returns the mean of e²/2 where |e| <= delta and delta·|e| - delta²/2 elsewhere, with e = p - t. Source: Huber,
// "Robust Estimation of a Location Parameter", 1964.
func Huber(yTrue, yPred *ops.Tensor, delta float64) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	e := ops.Subtract(p, t)
	size := ops.Abs(e)
	quadratic := ops.MultiplyScalar(ops.Square(e), 0.5)
	linear := ops.SubtractScalar(ops.MultiplyScalar(size, delta), delta*delta/2)
	return meanLast(ops.Where(ops.CompareScalar(ir.Le, size, delta), quadratic, linear))
}

// LogCosh returns mean(ln(cosh(p-t))), computed as x + softplus(-2x) - ln 2 so that it does not overflow.
func LogCosh(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	x := ops.Subtract(p, t)
	return meanLast(ops.SubtractScalar(ops.Add(x, ops.Softplus(ops.MultiplyScalar(x, -2))), math.Ln2))
}

// CosineSimilarity returns Σ t/‖t‖ · p/‖p‖ along axis, 1 for equal directions; a vector of zeros has similarity 0 with
// all. If axis is the batch, the result is one for the global batch on every replica.
func CosineSimilarity(b Batch, yTrue, yPred *ops.Tensor, axis int) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	axis = t.Axis(axis)
	if axis == 0 {
		t, p = Join(b, t), Join(b, p)
	}
	return ops.Sum(ops.Multiply(ops.L2Normalize(t, axis, Epsilon), ops.L2Normalize(p, axis, Epsilon)), axis)
}

// Poisson returns mean(p - t·ln(p + ε)).
func Poisson(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	return meanLast(ops.Subtract(p, ops.Multiply(t, ops.Log(ops.AddScalar(p, Epsilon)))))
}

// KLDivergence returns Σ t·ln(t/p), with both limited to [ε, 1]. Source: Kullback, Leibler, "On Information and
// Sufficiency", 1951.
func KLDivergence(yTrue, yPred *ops.Tensor) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	t, p = ops.Clip(t, Epsilon, 1), ops.Clip(p, Epsilon, 1)
	return ops.Sum(ops.Multiply(t, ops.Log(ops.Divide(t, p))), -1)
}
