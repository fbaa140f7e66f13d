package layers

import (
	"encoding/json"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// LayerNormalization gives each example mean 0 and variance 1 over some of its axes, then a learned scale and offset:
//
//	y = gamma · (x - mean) / sqrt(variance + Epsilon) + beta
//
// Mean and (biased) variance are taken over Axis. Half precision is computed in float32. With RMSScaling, which Keras
// keeps only for old files, the mean is not subtracted and there is no beta:
//
//	y = gamma · x / sqrt(variance + Epsilon)
//
// Input shape: any. Output shape: that of the input. A mask passes through. Weights: gamma and beta, of the lengths of
// Axis. Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.
type LayerNormalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axis     []int    `keras:"axis,default=[-1]"`     // nil is {-1}
	Epsilon  *float64 `keras:"epsilon,default=0.001"` // nil is 1e-3
	NoCenter bool     `keras:"center,not"`            // no beta
	NoScale  bool     `keras:"scale,not"`             // no gamma

	RMSScaling bool `keras:"rms_scaling"` // do not subtract the mean; deprecated in Keras, use RMSNormalization

	BetaInitializer  any `keras:"beta_initializer,default=Zeros"`
	GammaInitializer any `keras:"gamma_initializer,default=Ones"`
	BetaRegularizer  any `keras:"beta_regularizer"`
	GammaRegularizer any `keras:"gamma_regularizer"`
	BetaConstraint   any `keras:"beta_constraint"`
	GammaConstraint  any `keras:"gamma_constraint"`

	affine
}

// MigrateConfig reads an epsilon of null, which stands for 1e-7.
func (l *LayerNormalization) MigrateConfig(keys map[string]json.RawMessage) error {
	epsilonOfNone(keys)
	return nil
}

// Build creates gamma and beta.
func (l *LayerNormalization) Build(b *Builder, in []ir.Shape) {
	l.buildAffine(b, axesShape(b, l.Axis, in[0]), affineFields{l.NoScale && !l.RMSScaling, l.NoCenter || l.RMSScaling, l.GammaInitializer, l.BetaInitializer, l.GammaRegularizer, l.BetaRegularizer, l.GammaConstraint, l.BetaConstraint})
}

// axesShape returns the lengths of the given axes in the order of Keras's weights: sorted as they are written.
func axesShape(b *Builder, axes []int, x ir.Shape) ir.Shape {
	if axes == nil {
		axes = []int{-1}
	}
	if len(axes) == 0 {
		b.Fail("Axis is an empty list; name at least one axis, or leave it out for the last one")
	}
	axes = slices.Sorted(slices.Values(axes))
	shape := make(ir.Shape, len(axes))
	seen := map[int]bool{}
	for i, a := range axes {
		if a >= len(x) || a < -len(x) {
			b.Fail("Axis %v has no place in an input of shape %v", axes, x)
		}
		a = (a + len(x)) % len(x)
		if seen[a] {
			b.Fail("Axis %v names axis %d of the input %v twice", axes, a, x)
		}
		seen[a] = true
		shape[i] = x[a]
	}
	return shape
}

// Forward computes the layer.
func (l *LayerNormalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	needBuilt(c, l)
	x := atLeastFloat32(one(c, in))
	gamma, beta := l.affineWeights(c, x)
	normalize := normalizeAxes
	if l.RMSScaling {
		normalize = scaleAxes
	}
	y := normalize(x, gamma, beta, fieldAxes(x, l.Axis), number(l.Epsilon, 1e-3))
	return []*ops.Tensor{ops.Cast(y, c.ComputeDType())}
}

// normalizeAxes is layer normalization over sorted axes. The last axes are merged into one, for which there is an op.
func normalizeAxes(x, gamma, beta *ops.Tensor, axes []int, epsilon float64) *ops.Tensor {
	if first := axes[0]; first+len(axes) == x.Rank() {
		size := x.Shape()[first:].Size()
		flat := ops.Reshape(x, append(x.Shape()[:first].Clone(), size)...)
		y := ops.LayerNormalization(flat, ravel(gamma, x, 1, size), ravel(beta, x, 0, size), epsilon)
		return ops.Reshape(y, x.Shape()...)
	}
	mean, variance := ops.Moments(x, axes...)
	scale := ops.Rsqrt(ops.AddScalar(ops.KeepDims(variance, x, axes...), epsilon))
	if gamma != nil {
		scale = ops.Multiply(scale, alongAxes(gamma, x, axes))
	}
	offset := ops.Negative(ops.Multiply(ops.KeepDims(mean, x, axes...), scale))
	if beta != nil {
		offset = ops.Add(offset, alongAxes(beta, x, axes))
	}
	return ops.Add(ops.Multiply(x, scale), offset)
}

// scaleAxes is layer normalization without the mean: gamma · x / sqrt(variance + epsilon). It takes no beta.
func scaleAxes(x, gamma, _ *ops.Tensor, axes []int, epsilon float64) *ops.Tensor {
	_, variance := ops.Moments(x, axes...)
	y := ops.Multiply(x, ops.Rsqrt(ops.AddScalar(ops.KeepDims(variance, x, axes...), epsilon)))
	if gamma != nil {
		y = ops.Multiply(y, alongAxes(gamma, x, axes))
	}
	return y
}

// ravel returns t as a vector, or a vector of the given value and length if t is nil.
func ravel(t, x *ops.Tensor, value float64, length int) *ops.Tensor {
	if t == nil {
		return ops.Full(x, x.DType(), value, length)
	}
	return ops.Ravel(t)
}

// alongAxes gives a weight the rank of x, with its elements along the given axes.
func alongAxes(t, x *ops.Tensor, axes []int) *ops.Tensor {
	shape := ints.Repeat(1, x.Rank())
	for _, a := range axes {
		shape[a] = x.Dim(a)
	}
	return ops.Reshape(t, shape...)
}

// SupportsMasking reports that a mask passes through.
func (l *LayerNormalization) SupportsMasking() bool { return true }

// keepsInputType: inputs are not rounded to half precision before they are normalized.
func (l *LayerNormalization) keepsInputType() {}

func init() { Register[LayerNormalization]() }
