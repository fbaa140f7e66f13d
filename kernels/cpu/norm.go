package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowBlocks cuts rows of the given width for a reduction over rows. Their number depends on the shape only; what they
// sum is added in order.
func rowBlocks(rows, width int) (count, size int) {
	size = max(grain(width), 1)
	if count = (rows + size - 1) / size; count > 64 {
		size = (rows + 63) / 64
		count = (rows + size - 1) / size
	}
	return count, size
}

func buildLayerNorm(b *build) (func(), error) {
	return byFloat(b, layerNorm[float64], layerNorm[float32])
}

// layerNorm is y = gamma·(x-mean)·rstd + beta over rows.
func layerNorm[T block.Float](b *build) func() {
	x, gamma, beta, y, mean, rstd := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	ch := gamma.N
	if ch == 0 {
		return func() {}
	}
	if isShort[T](ch, shortNorm, shortNormDouble) {
		return layerNormShort[T](b, ch)
	}
	return b.rt().parallel(x.N/ch, grain(2*ch), func(_ *worker, lo, hi int) {
		vec.LayerNorm(plan.Data[T](y)[lo*ch:hi*ch], plan.Data[T](x)[lo*ch:hi*ch], plan.Data[T](gamma), plan.Data[T](beta), plan.Data[T](mean)[lo:hi], plan.Data[T](rstd)[lo:hi], epsilon)
	})
}

func buildLayerNormGrad(b *build) (func(), error) {
	return byFloat(b, layerNormGrad[float64], layerNormGrad[float32])
}

// layerNormGrad: with n = (x-mean)·rstd and g = gamma·dy, dx = rstd·(g - mean(g) - n·mean(g·n)), dgamma = Σ dy·n, dbeta
// = Σ dy.
func layerNormGrad[T block.Float](b *build) func() {
	x, gamma, mean, rstd, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	dx, dgamma, dbeta := b.out(0), b.out(1), b.out(2)
	d, ch := x.Typ.DType, gamma.N
	if ch == 0 {
		return func() {}
	}
	if isShort[T](ch, shortNormGrad, shortNormDouble) {
		return layerNormGradShort[T](b, ch)
	}
	rows := x.N / ch
	blocks, size := rowBlocks(rows, 2*ch)
	sumGN, sumG := b.scratch(d, blocks*ch), b.scratch(d, blocks*ch)
	b.rt().need(2 * ch * d.Size())
	each := b.rt().parallel(blocks, 1, func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			beta, scale := plan.Data[T](sumG)[k*ch:(k+1)*ch], plan.Data[T](sumGN)[k*ch:(k+1)*ch]
			clear(beta)
			clear(scale)
			first, last := k*size, min((k+1)*size, rows)
			vec.LayerNormGrad(plan.Data[T](dx)[first*ch:last*ch], scale, beta, plan.Data[T](x)[first*ch:last*ch], plan.Data[T](gamma),
				plan.Data[T](mean)[first:last], plan.Data[T](rstd)[first:last], plan.Data[T](dy)[first*ch:last*ch], scratchOf[T](w, 2*ch))
		}
	})
	return func() {
		each()
		vec.SumRows(plan.Data[T](dgamma), plan.Data[T](sumGN), blocks, ch, ch)
		vec.SumRows(plan.Data[T](dbeta), plan.Data[T](sumG), blocks, ch, ch)
	}
}
