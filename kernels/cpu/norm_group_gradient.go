package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildGroupNormGrad(b *build) (func(), error) {
	return byFloat(b, groupNormGrad[float64], groupNormGrad[float32])
}

// groupGradient computes, with n = (x-mean)·rstd and g = gamma·dy: dx = rstd·(g - average(g) - n·average(g·n)) with
// averages over the group, dgamma = Σ dy·n, dbeta = Σ dy.
type groupGradient[T block.Float] struct {
	*groupRows
	x, dy, dx           *plan.Operand
	gamma, mean, rstd   *plan.Operand
	dgamma, dbeta       *plan.Operand
	partial             *plan.Operand // sums of blocks: of dy, then of dy·(x-mean)
	center              *plan.Operand // a tile for each example
	onX, onDy, constant *plan.Operand // a tile for each example, from which dx is computed
}

func groupNormGrad[T block.Float](b *build) func() {
	x, gamma := b.in(0), b.in(1)
	g := &groupGradient[T]{groupRows: newGroupRows(x, gamma, b.n.Attrs.(ir.GroupNormAttrs).Groups), x: x, gamma: gamma, mean: b.in(2), rstd: b.in(3), dy: b.in(4), dx: b.out(0), dgamma: b.out(1), dbeta: b.out(2)}
	if x.N == 0 {
		return func() {
			clear(plan.Data[T](g.dgamma))
			clear(plan.Data[T](g.dbeta))
		}
	}
	g.partial = b.scratch(ir.Float64, 2*g.examples*g.blocks*g.ch)
	for _, o := range [...]**plan.Operand{&g.center, &g.onX, &g.onDy, &g.constant} {
		*o = g.perChannel(b, x.Typ.DType)
	}
	each := g.run(b.rt(), g.sums, g.finish, g.gradient)
	return func() {
		g.begin()
		each()
		g.ofWeights()
	}
}

// tile returns the tile of example n.
func (g *groupGradient[T]) tile(o *plan.Operand, n int) []T {
	return plan.Data[T](o)[n*g.period : (n+1)*g.period]
}

// of returns the sums of block k of example n.
func (g *groupGradient[T]) of(n, k int) (sum, product []float64) {
	v := plan.Data[float64](g.partial)[2*(n*g.blocks+k)*g.ch:]
	return v[:g.ch], v[g.ch : 2*g.ch]
}

// begin computes the tiles of means.
func (g *groupGradient[T]) begin() {
	for i := range g.examples * g.groups {
		from := i / g.groups * g.period
		fillWith(plan.Data[T](g.center)[from+i%g.groups*g.in:from+(i%g.groups+1)*g.in], plan.Data[T](g.mean)[i])
	}
	for n := range g.examples {
		v := g.tile(g.center, n)
		vec.Repeat(v[g.ch:], v[:g.ch])
	}
}

// sums computes those of block k of example n.
func (g *groupGradient[T]) sums(n, k int) {
	lo, hi, rows := g.block(n, k)
	sum, product := g.of(n, k)
	vec.SumProductsOf(sum, product, linesOf[T](g.dy, lo, hi), linesOf[T](g.x, lo, hi), rows, g.ch, g.tile(g.center, n), nil, nil)
}

// finish adds up the sums of an example's blocks, and computes the tiles for its dx.
func (g *groupGradient[T]) finish(_ *worker, n int) {
	sum, product := g.of(n, 0)
	for k := 1; k < g.blocks; k++ {
		more, moreProduct := g.of(n, k)
		for c := range sum {
			sum[c] += more[c]
			product[c] += moreProduct[c]
		}
	}
	by, up, add, gammas := g.tile(g.onX, n), g.tile(g.onDy, n), g.tile(g.constant, n), plan.Data[T](g.gamma)
	for i := range g.groups {
		s, a, p := float64(plan.Data[T](g.rstd)[n*g.groups+i]), 0.0, 0.0
		for c := i * g.in; c < (i+1)*g.in; c++ {
			product[c] *= s
			up[c] = T(float64(gammas[c]) * s)
			a += float64(up[c]) * sum[c] // rounded as below, so that with a single number dx is exactly 0
			p += float64(gammas[c]) * product[c]
		}
		count := float64(g.rows * g.in)
		slope := T(-s * s * p / count)
		constant := T(-a/count - float64(plan.Data[T](g.mean)[n*g.groups+i])*float64(slope))
		for c := i * g.in; c < (i+1)*g.in; c++ {
			by[c], add[c] = slope, constant
		}
	}
	for _, v := range [...][]T{by, up, add} {
		vec.Repeat(v[g.ch:], v[:g.ch])
	}
}

// gradient computes dx of block k of example n.
func (g *groupGradient[T]) gradient(n, k int) {
	lo, hi, _ := g.block(n, k)
	vec.CombineRows(plan.Data[T](g.dx)[lo:hi], plan.Data[T](g.x)[lo:hi], plan.Data[T](g.dy)[lo:hi], g.tile(g.onX, n), g.tile(g.onDy, n), g.tile(g.constant, n), nil, nil)
}

// ofWeights adds up the contributions of all examples to the gradients of gamma and beta.
func (g *groupGradient[T]) ofWeights() {
	for c := range g.ch {
		sum, product := 0.0, 0.0
		for n := range g.examples {
			s, p := g.of(n, 0)
			sum, product = sum+s[c], product+p[c]
		}
		plan.Data[T](g.dbeta)[c], plan.Data[T](g.dgamma)[c] = T(sum), T(product)
	}
}
