package ir

import "github.com/gokeras/gokeras/kernels/ir/dim"

func init() {
	decompositions[BatchNorm] = decomposeBatchNorm
	decompositions[BatchNormGrad] = decomposeBatchNormGrad
	decompositions[LayerNorm] = decomposeLayerNorm
	decompositions[LayerNormGrad] = decomposeLayerNormGrad
	decompositions[GroupNorm] = decomposeGroupNorm
	decompositions[GroupNormGrad] = decomposeGroupNormGrad
}

// mean averages x over the axes.
func (b *builder) mean(x Value, axes ...int) Value {
	count := 1
	for _, a := range axes {
		count = dim.Mul(count, b.shape(x)[a])
	}
	sum := b.reduce(Sum, x, axes...)
	return b.div(sum, b.length(sum, count))
}

// moments returns the mean and biased variance of x over the axes and x minus its mean.
func (b *builder) moments(x Value, axes ...int) (mean, variance, centered Value) {
	mean = b.mean(x, axes...)
	centered = b.sub(x, b.spread(mean, b.shape(x), axes...))
	return mean, b.mean(b.mul(centered, centered), axes...), centered
}

func (b *builder) rstd(variance Value, epsilon float64) Value {
	return b.op(Rsqrt, nil, b.add(variance, b.like(variance, epsilon)))
}

// normGrad returns the gradients of y = gamma·n + beta, n = (x-mean)·rstd, where mean and rstd depend on x over the
// statistic axes and gamma and beta are shared over the parameter axes:
//
//	dx = rstd·(g - mean(g) - n·mean(g·n)), g = gamma·dy;  dgamma = Σ dy·n;  dbeta = Σ dy
func (b *builder) normGrad(x, gamma, mean, rstd, dy Value, statistic, parameter []int) (dx, dgamma, dbeta Value) {
	s := b.shape(x)
	rstdWide := b.spread(rstd, s, statistic...)
	normal := b.mul(b.sub(x, b.spread(mean, s, statistic...)), rstdWide)
	g := b.mul(dy, b.spread(gamma, s, parameter...))
	gMean := b.spread(b.mean(g, statistic...), s, statistic...)
	gnMean := b.spread(b.mean(b.mul(g, normal), statistic...), s, statistic...)
	dx = b.mul(rstdWide, b.sub(b.sub(g, gMean), b.mul(normal, gnMean)))
	return dx, b.reduce(Sum, b.mul(dy, normal), parameter...), b.reduce(Sum, dy, parameter...)
}

func (b *builder) wideAll(values []Value) []Value {
	out := make([]Value, len(values))
	for i, v := range values {
		out[i] = b.wide(v)
	}
	return out
}

func decomposeBatchNorm(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	x, gamma, beta := in[0], in[1], in[2]
	s := b.shape(x)
	axes := upTo(len(s) - 1)
	mean, variance, centered := b.moments(x, axes...)
	slope := b.mul(gamma, b.rstd(variance, n.Attrs.(NormAttrs).Epsilon))
	y := b.add(b.mul(centered, b.spread(slope, s, axes...)), b.spread(beta, s, axes...))
	return b.narrow(n.Inputs[0], y, mean, variance)
}

func decomposeBatchNormGrad(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	axes := upTo(len(b.shape(in[0])) - 1)
	rstd := b.rstd(in[3], n.Attrs.(NormAttrs).Epsilon)
	dx, dgamma, dbeta := b.normGrad(in[0], in[1], in[2], rstd, in[4], axes, axes)
	return b.narrow(n.Inputs[0], dx, dgamma, dbeta)
}

func decomposeLayerNorm(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	x, gamma, beta := in[0], in[1], in[2]
	s := b.shape(x)
	last := len(s) - 1
	mean, variance, centered := b.moments(x, last)
	rstd := b.rstd(variance, n.Attrs.(NormAttrs).Epsilon)
	normal := b.mul(centered, b.spread(rstd, s, last))
	y := b.add(b.mul(normal, b.spread(gamma, s, upTo(last)...)), b.spread(beta, s, upTo(last)...))
	return b.narrow(n.Inputs[0], y, mean, rstd)
}

func decomposeLayerNormGrad(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	last := len(b.shape(in[0])) - 1
	dx, dgamma, dbeta := b.normGrad(in[0], in[1], in[2], in[3], in[4], []int{last}, upTo(last))
	return b.narrow(n.Inputs[0], dx, dgamma, dbeta)
}

// byGroup returns (batch, positions, groups, channels of a group), the shape in which a group's statistics are those
// over axes 1 and 3.
func byGroup(s Shape, groups int) Shape {
	last := len(s) - 1
	return Shape{s[0], s[1:last].Size(), groups, dim.FloorDiv(s[last], groups)}
}

func decomposeGroupNorm(b *builder, n *Node) []Value {
	in, a := b.wideAll(n.Inputs), n.Attrs.(GroupNormAttrs)
	s := byGroup(b.shape(in[0]), a.Groups)
	mean, variance, centered := b.moments(b.reshape(in[0], s...), 1, 3)
	rstd := b.rstd(variance, a.Epsilon)
	perChannel := func(v Value) Value { return b.spread(b.reshape(v, s[2], s[3]), s, 0, 1) }
	y := b.add(b.mul(b.mul(centered, b.spread(rstd, s, 1, 3)), perChannel(in[1])), perChannel(in[2]))
	return b.narrow(n.Inputs[0], b.reshape(y, b.shape(in[0])...), mean, rstd)
}

func decomposeGroupNormGrad(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	s := byGroup(b.shape(in[0]), n.Attrs.(GroupNormAttrs).Groups)
	x, dy, gamma := b.reshape(in[0], s...), b.reshape(in[4], s...), b.reshape(in[1], s[2], s[3])
	dx, dgamma, dbeta := b.normGrad(x, gamma, in[2], in[3], dy, []int{1, 3}, []int{0, 1})
	channels := b.shape(in[1])
	return b.narrow(n.Inputs[0], b.reshape(dx, b.shape(in[0])...), b.reshape(dgamma, channels...), b.reshape(dbeta, channels...))
}
