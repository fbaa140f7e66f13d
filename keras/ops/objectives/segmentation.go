package objectives

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Dice returns 1 - 2·Σ t·p / (Σ t + Σ p + ε), summed over the given axes; none means all. If they include the batch,
// the sums run over the global batch and every replica gets the same result. Source: Milletari et al., "V-Net", 2016,
// with the plain instead of the squared denominator, as in Keras.
func Dice(b Batch, yTrue, yPred *ops.Tensor, axes []int) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	s := sumsOver(b, axes, ops.Multiply(t, p), t, p)
	denominator := ops.AddScalar(ops.Add(s[1], s[2]), Epsilon)
	score := ops.Divide(ops.MultiplyScalar(s[0], 2), denominator)
	return ops.Subtract(ops.OnesLike(score), score)
}

// Tversky returns 1 - I/(I + alpha·F + beta·N + ε) with I = Σ t·p, F = Σ t·(1-p) and N = Σ (1-t)·p, summed over the
// given axes as in [Dice]. (Keras counts the labels that the prediction misses with alpha.) Source: Salehi et al.,
// "Tversky loss function for image segmentation using 3D fully convolutional deep networks", 2017, equation 4.
func Tversky(b Batch, yTrue, yPred *ops.Tensor, alpha, beta float64, axes []int) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	one := ops.OnesLike(t)
	s := sumsOver(b, axes, ops.Multiply(t, p), ops.Multiply(ops.Subtract(one, p), t), ops.Multiply(p, ops.Subtract(one, t)))
	wrong := ops.Add(ops.MultiplyScalar(s[1], alpha), ops.MultiplyScalar(s[2], beta))
	score := ops.Divide(s[0], ops.AddScalar(ops.Add(s[0], wrong), Epsilon))
	return ops.Subtract(ops.OnesLike(score), score)
}

// sumsOver sums each tensor over the axes, and over the replicas where the batch is among them.
func sumsOver(b Batch, axes []int, xs ...*ops.Tensor) []*ops.Tensor {
	rank, shape := xs[0].Rank(), xs[0].Shape()
	axes = axesOf(xs[0].Graph(), axes, rank, shape)
	sums := make([]*ops.Tensor, len(xs))
	for i, x := range xs {
		sums[i] = ops.Sum(x, axes...)
	}
	if len(axes) == 0 || slices.Contains(axes, 0) {
		return b.AllReduce(ir.Sum, sums...)
	}
	return sums
}
