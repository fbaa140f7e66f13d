package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// BatchNormalization normalizes x (..., channels) over all axes but the last:
//
//	y = gamma · (x - mean) / sqrt(variance + epsilon) + beta
//
// gamma and beta are (channels). It also returns the mean and the biased variance (divided by the count) of each
// channel, which training uses for the moving statistics. Source: Ioffe, Szegedy, "Batch Normalization", ICML 2015,
// algorithm 1.
func BatchNormalization(x, gamma, beta *Tensor, epsilon float64) (y, mean, variance *Tensor) {
	x = float(x)
	out := apply(ir.BatchNorm, ir.NormAttrs{Epsilon: epsilon}, x, Cast(gamma, x.DType()), Cast(beta, x.DType()))
	return out[0].WithMask(x.mask), out[1], out[2]
}

// LayerNormalization normalizes each row of x over its last axis:
//
//	y = gamma · (x - mean) / sqrt(variance + epsilon) + beta
//
// gamma and beta have the length of that axis; the variance is biased. Source: Ba, Kiros, Hinton, "Layer
// Normalization", 2016.
func LayerNormalization(x, gamma, beta *Tensor, epsilon float64) *Tensor {
	x = float(x)
	out := apply(ir.LayerNorm, ir.NormAttrs{Epsilon: epsilon}, x, Cast(gamma, x.DType()), Cast(beta, x.DType()))
	return out[0].WithMask(x.mask)
}

// GroupNormalization normalizes groups of channels of x (batch, ..., channels), each by itself in each example:
//
//	y = gamma · (x - mean) / sqrt(variance + epsilon) + beta
//
// gamma and beta are (channels), of which groups is a divisor; the variance is biased. Source: Wu, He, "Group
// Normalization", ECCV 2018.
func GroupNormalization(x, gamma, beta *Tensor, groups int, epsilon float64) *Tensor {
	x = float(x)
	if normalizesRows(x, gamma, beta, groups) {
		return groupRows(x, gamma, beta, groups, epsilon)
	}
	out := apply(ir.GroupNorm, ir.GroupNormAttrs{Groups: groups, Epsilon: epsilon}, x, Cast(gamma, x.DType()), Cast(beta, x.DType()))
	return out[0].WithMask(x.mask)
}

// normalizesRows reports whether the groups of x are contiguous rows of one position each, in examples so small that
// the group op's overhead per example matters. The limit was measured.
func normalizesRows(x, gamma, beta *Tensor, groups int) bool {
	const most = 8192
	if x.Rank() < 2 || groups < 1 {
		return false
	}
	channels, size := x.Dim(-1), x.Shape()[1:].Size()
	if !dim.Known(size) || size == 0 || size != channels || channels%groups != 0 { //dim:known
		return false
	}
	perChannel := ir.Shape{channels}
	return size <= most && //dim:known
		gamma.Shape().Equal(perChannel) && beta.Shape().Equal(perChannel)
}

// groupRows is GroupNormalization by the op for rows, which has kernels for short rows.
func groupRows(x, gamma, beta *Tensor, groups int, epsilon float64) *Tensor {
	wide := x
	if x.DType().IsHalf() {
		wide = Cast(x, ir.Float32)
	}
	d, members := wide.DType(), x.Dim(-1)/groups //dim:known
	rows := LayerNormalization(Reshape(wide, x.Dim(0), groups, members), Ones(wide, d, members), Zeros(wide, d, members), epsilon)
	y := Add(Multiply(Reshape(rows, x.Shape()...), Cast(gamma, d)), Cast(beta, d))
	return Cast(y, x.DType()).WithMask(x.mask)
}

// RmsNormalization divides each row of x by its root mean square over the last axis and multiplies by scale (nil for
// 1):
//
//	y = scale · x / sqrt(mean(x²) + epsilon)
//
// Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019, equation 4.
func RmsNormalization(x, scale *Tensor, epsilon float64) *Tensor {
	x = float(x)
	root := Rsqrt(AddScalar(KeepDims(Mean(Square(x), -1), x, -1), epsilon))
	y := Multiply(x, root)
	if scale != nil {
		y = Multiply(y, Cast(scale, x.DType()))
	}
	return y.WithMask(x.mask)
}

// Moments returns the mean and the biased variance along the given axes, which disappear; without axes, of all
// elements.
func Moments(x *Tensor, axes ...int) (mean, variance *Tensor) {
	x = float(x)
	mean = Mean(x, axes...)
	return mean, Mean(Square(Subtract(x, KeepDims(mean, x, axes...))), axes...)
}

// L2Normalize divides x by its Euclidean length along axis, but at least by epsilon: x / max(‖x‖, epsilon). A row of
// zeros stays zero and has the gradient dy/epsilon. In types too narrow for epsilon², the square root of the smallest
// normal number replaces epsilon.
func L2Normalize(x *Tensor, axis int, epsilon float64) *Tensor {
	x = float(x)
	squares := KeepDims(Sum(Square(x), axis), x, axis)
	return Multiply(x, Rsqrt(MaximumScalar(squares, max(epsilon*epsilon, x.DType().LeastNormal())))).WithMask(x.mask)
}

func init() {
	rules[ir.BatchNorm] = batchNormRule
	rules[ir.LayerNorm] = layerNormRule
	rules[ir.GroupNorm] = groupNormRule
}

// batchNormRule: gamma and beta reach only y. x also reaches mean and variance, whose slopes are 1/n and 2(x-mean)/n.
func batchNormRule(c *vjp) []*Tensor {
	x, gamma, mean, variance := c.in(0), c.in(1), c.out(1), c.out(2)
	grads := make([]*Tensor, 3)
	if c.dys[0] != nil {
		copy(grads, apply(ir.BatchNormGrad, c.node.Attrs, x, gamma, mean, variance, c.dy(0)))
	}
	n := dim.FloorDiv(x.Shape().Size(), dim.Max(x.Dim(-1), 1))
	if c.dys[1] != nil {
		grads[0] = sumOf(grads[0], BroadcastTo(DivideByLength(c.dy(1), n), x.Shape()...))
	}
	if c.dys[2] != nil {
		slope := MultiplyByInverse(Subtract(x, mean), 2, n)
		grads[0] = sumOf(grads[0], Multiply(slope, c.dy(2)))
	}
	return grads
}

// layerNormRule: the slopes of mean and rstd = (variance + epsilon)^(-1/2) are 1/n and -rstd³(x-mean)/n.
func layerNormRule(c *vjp) []*Tensor {
	x, gamma, mean, rstd := c.in(0), c.in(1), c.out(1), c.out(2)
	grads := make([]*Tensor, 3)
	if c.dys[0] != nil {
		copy(grads, apply(ir.LayerNormGrad, c.node.Attrs, x, gamma, mean, rstd, c.dy(0)))
	}
	n := x.Dim(-1)
	if c.dys[1] != nil {
		grads[0] = sumOf(grads[0], BroadcastTo(ExpandDims(DivideByLength(c.dy(1), n), -1), x.Shape()...))
	}
	if c.dys[2] != nil {
		scale := MultiplyByInverse(Multiply(c.dy(2), Multiply(rstd, Square(rstd))), -1, n)
		grads[0] = sumOf(grads[0], Multiply(Subtract(x, ExpandDims(mean, -1)), ExpandDims(scale, -1)))
	}
	return grads
}

// groupNormRule: the slopes of mean and rstd are those in [layerNormRule]; gradients of gradients need them.
func groupNormRule(c *vjp) []*Tensor {
	x, mean, rstd := c.in(0), c.out(1), c.out(2)
	grads := make([]*Tensor, 3)
	if c.dys[0] != nil {
		copy(grads, apply(ir.GroupNormGrad, c.node.Attrs, x, c.in(1), mean, rstd, c.dy(0)))
	}
	batch, groups := mean.Dim(0), mean.Dim(1)
	positions, members := x.Shape()[1:x.Rank()-1].Size(), dim.FloorDiv(x.Dim(-1), groups)
	perGroup := func(v *Tensor) *Tensor { return Reshape(v, batch, 1, groups, 1) }
	n := dim.Mul(positions, members)
	if c.dys[1] != nil {
		wide := BroadcastTo(perGroup(DivideByLength(c.dy(1), n)), batch, positions, groups, members)
		grads[0] = sumOf(grads[0], Reshape(wide, x.Shape()...))
	}
	if c.dys[2] != nil {
		scale := MultiplyByInverse(Multiply(c.dy(2), Multiply(rstd, Square(rstd))), -1, n)
		centered := Subtract(Reshape(x, batch, positions, groups, members), perGroup(mean))
		grads[0] = sumOf(grads[0], Reshape(Multiply(centered, perGroup(scale)), x.Shape()...))
	}
	return grads
}

// sumOf adds two gradients; the first may be missing.
func sumOf(a, b *Tensor) *Tensor {
	if a == nil {
		return b
	}
	return Add(a, b)
}
