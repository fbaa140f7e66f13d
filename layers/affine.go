package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// affine is the learned scale gamma and offset beta of a normalization layer; either may be missing.
type affine struct{ gamma, beta *distribute.Variable }

// affineFields holds the fields of the layers that have gamma and beta.
type affineFields struct {
	NoScale, NoCenter                 bool
	GammaInitializer, BetaInitializer any
	GammaRegularizer, BetaRegularizer any
	GammaConstraint, BetaConstraint   any
}

// buildAffine makes gamma and beta.
func (a *affine) buildAffine(b *Builder, shape ir.Shape, f affineFields) {
	*a = affine{}
	if !f.NoScale {
		a.gamma = b.AddWeight("gamma", shape, WeightOptions{Initializer: orDefault(f.GammaInitializer, "ones"), Regularizer: f.GammaRegularizer, Constraint: f.GammaConstraint})
	}
	if !f.NoCenter {
		a.beta = b.AddWeight("beta", shape, WeightOptions{Initializer: orDefault(f.BetaInitializer, "zeros"), Regularizer: f.BetaRegularizer, Constraint: f.BetaConstraint})
	}
}

// affineWeights reads gamma and beta in the type of x, in full precision; nil if there is none.
func (a *affine) affineWeights(c *Context, x *ops.Tensor) (gamma, beta *ops.Tensor) {
	if a.gamma != nil {
		gamma = ops.Cast(c.Read(a.gamma), x.DType())
	}
	if a.beta != nil {
		beta = ops.Cast(c.Read(a.beta), x.DType())
	}
	return gamma, beta
}

// orFull returns t, or a vector of the given length and value if t is nil.
func orFull(t, x *ops.Tensor, value float64, length int) *ops.Tensor {
	if t == nil {
		return ops.Full(x, x.DType(), value, length)
	}
	return t
}

// channelAxis turns an Axis field into an axis counted from the front; 0, the batch, stands for the last.
func channelAxis(g *ops.Graph, axis int, shape ir.Shape) int {
	rank := len(shape)
	if axis == 0 {
		axis = -1
	}
	if rank < 2 || axis >= rank || axis < -rank {
		ops.Failf(g, "Axis %d is not an axis of an input of shape %v; expected an input (batch, ..., channels) and one of its axes", axis, shape)
	}
	return (axis + rank) % rank
}

// normalize returns gamma · (x - mean) / sqrt(variance + epsilon) + beta with all four along one axis; gamma and beta
// may be nil.
func normalize(x, mean, variance, gamma, beta *ops.Tensor, axis int, epsilon float64) *ops.Tensor {
	scale := ops.Rsqrt(ops.AddScalar(variance, epsilon))
	if gamma != nil {
		scale = ops.Multiply(scale, gamma)
	}
	offset := ops.Negative(ops.Multiply(mean, scale))
	if beta != nil {
		offset = ops.Add(offset, beta)
	}
	return ops.Add(ops.Multiply(x, along(scale, x, axis)), along(offset, x, axis))
}

// along gives a vector the rank of x, with its elements along one axis.
func along(v, x *ops.Tensor, axis int) *ops.Tensor {
	shape := ints.Repeat(1, x.Rank())
	shape[axis] = v.Dim(0)
	return ops.Reshape(v, shape...)
}
