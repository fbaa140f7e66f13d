package layers

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// GroupNormalization divides the channels of each example into groups and gives each group mean 0 and variance 1, then
// a learned scale and offset for each channel:
//
//	y = gamma · (x - mean) / sqrt(variance + Epsilon) + beta
//
// Mean and (biased) variance are taken over the group's channels and all other axes of the example. With one group this
// is layer normalization over the whole example; with as many groups as channels (Groups -1) it is instance
// normalization. Half precision is computed in float32.
//
// Input shape: (batch, ..., channels), or with the channels on another Axis. Output shape: that of the input. A mask
// passes through. Weights: gamma, beta (channels). Source: Wu, He, "Group Normalization", ECCV 2018.
type GroupNormalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Groups   int      `keras:"groups,default=32"`     // 0 is 32, -1 one for each channel
	Axis     int      `keras:"axis,default=-1"`       // the channels' axis; 0 is -1, the last
	Epsilon  *float64 `keras:"epsilon,default=0.001"` // nil is 1e-3
	NoCenter bool     `keras:"center,not"`            // no beta
	NoScale  bool     `keras:"scale,not"`             // no gamma

	BetaInitializer  any `keras:"beta_initializer,default=Zeros"`
	GammaInitializer any `keras:"gamma_initializer,default=Ones"`
	BetaRegularizer  any `keras:"beta_regularizer"`
	GammaRegularizer any `keras:"gamma_regularizer"`
	BetaConstraint   any `keras:"beta_constraint"`
	GammaConstraint  any `keras:"gamma_constraint"`

	affine
}

// groups returns the number of groups for the given number of channels.
func (l *GroupNormalization) groups(g *ops.Graph, channels int) int {
	ops.Fixed(g, "group normalization", channels)
	n := l.Groups
	switch {
	case n == 0:
		n = 32
	case n == -1:
		n = channels
	}
	if n < 1 || channels%max(n, 1) != 0 { //dim:known
		ops.Failf(g, "Groups %d must divide the %d channels; use a divisor, or -1 for one group for each channel", n, channels)
	}
	return n
}

// Build creates gamma and beta.
func (l *GroupNormalization) Build(b *Builder, in []ir.Shape) {
	g := b.context.Graph()
	channels := in[0][channelAxis(g, l.Axis, in[0])]
	l.groups(g, channels)
	l.buildAffine(b, ir.Shape{channels}, affineFields{l.NoScale, l.NoCenter, l.GammaInitializer, l.BetaInitializer, l.GammaRegularizer, l.BetaRegularizer, l.GammaConstraint, l.BetaConstraint})
}

// Forward computes the layer.
func (l *GroupNormalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := atLeastFloat32(one(c, in))
	axis := channelAxis(c.Graph(), l.Axis, x.Shape())
	channels := x.Dim(axis)
	groups := l.groups(c.Graph(), channels)
	if axis == x.Rank()-1 && axis > 0 {
		gamma, beta := l.affineWeights(c, x)
		y := ops.GroupNormalization(x, orFull(gamma, x, 1, channels), orFull(beta, x, 0, channels), groups, number(l.Epsilon, 1e-3))
		return []*ops.Tensor{ops.Cast(y, c.ComputeDType())}
	}
	split := func(s ir.Shape) ir.Shape {
		return slices.Insert(s.WithOnes(axis), axis+1, dim.FloorDiv(channels, groups))
	}
	grouped := split(x.Shape())
	grouped[axis] = groups
	z := ops.Reshape(x, grouped...)
	axes := make([]int, 0, z.Rank())
	for i := 1; i < z.Rank(); i++ {
		if i != axis {
			axes = append(axes, i)
		}
	}
	mean, variance := ops.Moments(z, axes...)
	scale := ops.Rsqrt(ops.AddScalar(ops.KeepDims(variance, z, axes...), number(l.Epsilon, 1e-3)))
	perChannel := ints.Repeat(1, z.Rank())
	perChannel[axis], perChannel[axis+1] = groups, dim.FloorDiv(channels, groups)
	gamma, beta := l.affineWeights(c, x)
	if gamma != nil {
		scale = ops.Multiply(scale, ops.Reshape(gamma, perChannel...))
	}
	offset := ops.Negative(ops.Multiply(ops.KeepDims(mean, z, axes...), scale))
	if beta != nil {
		offset = ops.Add(offset, ops.Reshape(beta, perChannel...))
	}
	y := ops.Add(ops.Multiply(z, scale), offset)
	return []*ops.Tensor{ops.Cast(ops.Reshape(y, x.Shape()...), c.ComputeDType())}
}

// SupportsMasking reports that a mask passes through.
func (l *GroupNormalization) SupportsMasking() bool { return true }

// keepsInputType: inputs are not rounded to half precision before they are normalized.
func (l *GroupNormalization) keepsInputType() {}

func init() { Register[GroupNormalization]() }
