package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildBatchNormGrad(b *build) (func(), error) {
	return byFloat(b, batchNormGrad[float64], batchNormGrad[float32])
}

// batchGradient computes, with n = (x-mean)·rstd: dbeta = Σ dy, dgamma = Σ dy·n, dx = gamma·rstd·(dy - dbeta/N -
// n·dgamma/N). If the unit includes the gradient of a relu after the normalization, dy is the gradient with respect to
// the relu's result. The places where that result is 0 are recomputed from x, with scale and shift.
type batchGradient[T block.Float] struct {
	*channelRows
	gamma, beta, mean, variance *plan.Operand // beta is nil without a relu
	dgamma, dbeta               *plan.Operand
	epsilon                     float64
	x, dy, dx                   rowPort[T]
	partial                     *plan.Operand // sums of blocks: of dy, then of dy·(x-mean)
	center, scale, shift        *plan.Operand // tiles
	onX, onDy, constant         *plan.Operand // tiles from which dx is computed
}

func batchNormGrad[T block.Float](b *build) func() {
	x, gamma, mean, variance, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	g := &batchGradient[T]{channelRows: newChannelRows(x, gamma), gamma: gamma, mean: mean, variance: variance, dgamma: b.out(1), dbeta: b.out(2), epsilon: b.n.Attrs.(ir.NormAttrs).Epsilon}
	if g.ch == 0 {
		return func() {}
	}
	tile := func() *plan.Operand { return b.scratch(gamma.Typ.DType, g.period) }
	if e := b.u.Fused; e != nil && e.Upstream >= 0 {
		dy, g.beta = &b.Operands[e.Upstream], &b.Operands[e.Bias]
		g.scale, g.shift = tile(), tile()
	}
	g.halves(b, x, dy, b.out(0))
	p := ports[T](b, 0, g.piece, x, dy, b.out(0))
	if p[1].half != nil && p[2].half != nil {
		p[2].at = p[1].at // it stays in the first-level cache
	}
	g.x, g.dy, g.dx = p[0], p[1], p[2]
	g.partial = b.scratch(ir.Float64, 2*g.ch*g.blocks)
	g.center, g.onX, g.onDy, g.constant = tile(), tile(), tile(), tile()
	sums, gradient := b.rt().parallel(g.blocks, 1, g.sums), b.rt().parallel(g.blocks, 1, g.gradient)
	return func() {
		g.begin()
		sums()
		g.finish()
		gradient()
	}
}

// begin prepares the tiles for the sums.
func (g *batchGradient[T]) begin() {
	vec.Repeat(plan.Data[T](g.center), plan.Data[T](g.mean))
	if by, to := g.mask(); by != nil {
		affineOf(by[:g.ch], to[:g.ch], plan.Data[T](g.mean), plan.Data[T](g.variance), plan.Data[T](g.gamma), plan.Data[T](g.beta), g.epsilon)
		vec.Repeat(by[g.ch:], by[:g.ch])
		vec.Repeat(to[g.ch:], to[:g.ch])
	}
}

// mask returns the scale and shift that give the relu's operand, or nil without a relu.
func (g *batchGradient[T]) mask() (by, to []T) {
	if g.beta == nil {
		return nil, nil
	}
	return plan.Data[T](g.scale), plan.Data[T](g.shift)
}

// sums computes those of blocks [lo, hi).
func (g *batchGradient[T]) sums(w *worker, lo, hi int) {
	by, to := g.mask()
	for k := lo; k < hi; k++ {
		first, last := g.block(k)
		sum := plan.Data[float64](g.partial)[2*k*g.ch : 2*(k+1)*g.ch]
		up, in := g.dy.lines(w, first*g.ch, last*g.ch, 0, g.half), g.x.lines(w, first*g.ch, last*g.ch, 1, g.half)
		vec.SumProductsOf(sum[:g.ch], sum[g.ch:], up, in, last-first, g.ch, plan.Data[T](g.center), by, to)
	}
}

// finish adds up the sums of the blocks, and computes the tiles for dx.
func (g *batchGradient[T]) finish() {
	p := plan.Data[float64](g.partial)
	onX, onDy, constant := plan.Data[T](g.onX), plan.Data[T](g.onDy), plan.Data[T](g.constant)
	for i := range plan.Data[T](g.dgamma) {
		sum, product := 0.0, 0.0
		for k := i; k < len(p); k += 2 * g.ch {
			sum, product = sum+p[k], product+p[k+g.ch]
		}
		rstd := 1 / math.Sqrt(float64(plan.Data[T](g.variance)[i])+g.epsilon)
		plan.Data[T](g.dbeta)[i], plan.Data[T](g.dgamma)[i] = T(sum), T(product*rstd)
		if g.rows == 0 { // the mean and the variance of nothing are NaN, a sum of nothing is 0
			plan.Data[T](g.dgamma)[i] = 0
			continue
		}
		by := float64(T(float64(plan.Data[T](g.gamma)[i]) * rstd)) // so that with a single row, dx is exactly 0
		a := -by * rstd * product * rstd / float64(g.rows)
		onDy[i], onX[i] = T(by), T(a)
		constant[i] = T(-by*sum/float64(g.rows) - float64(plan.Data[T](g.mean)[i])*float64(T(a)))
	}
	for _, v := range [...][]T{onX, onDy, constant} {
		vec.Repeat(v[g.ch:], v[:g.ch])
	}
}

// gradient computes dx of blocks [lo, hi).
func (g *batchGradient[T]) gradient(w *worker, lo, hi int) {
	first, _ := g.block(lo)
	_, last := g.block(hi - 1)
	by, to := g.mask()
	onX, onDy, constant := plan.Data[T](g.onX), plan.Data[T](g.onDy), plan.Data[T](g.constant)
	at, end := first*g.ch, last*g.ch
	if g.x.half != nil && g.dy.half != nil && g.dx.half != nil {
		at += g.x.half.CombineRows(g.dx.halves(at, end), g.x.halves(at, end), g.dy.halves(at, end), floatsOf(onX), floatsOf(onDy), floatsOf(constant), floatsOf(by), floatsOf(to))
	}
	for ; at < end; at += g.piece {
		stop := min(at+g.piece, end)
		out := g.dx.place(w, at, stop) // may be the memory of dy
		vec.CombineRows(out, g.x.read(w, at, stop), g.dy.read(w, at, stop), onX, onDy, constant, by, to)
		g.dx.store(at, out)
	}
}
