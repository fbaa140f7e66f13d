package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowBlocks cuts rows of the given width for a reduction over rows. Their number depends on the shape only; what they sum is added in order.
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
func layerNorm[T float](b *build) func() {
	x, gamma, beta, y, mean, rstd := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	ch := gamma.n
	if ch == 0 {
		return func() {}
	}
	return b.rt().parallel(x.n/ch, grain(2*ch), func(_ *worker, lo, hi int) {
		vec.LayerNorm(data[T](y)[lo*ch:hi*ch], data[T](x)[lo*ch:hi*ch], data[T](gamma), data[T](beta), data[T](mean)[lo:hi], data[T](rstd)[lo:hi], epsilon)
	})
}

func buildLayerNormGrad(b *build) (func(), error) {
	return byFloat(b, layerNormGrad[float64], layerNormGrad[float32])
}

// layerNormGrad: with n = (x-mean)·rstd and g = gamma·dy, dx = rstd·(g - mean(g) - n·mean(g·n)), dgamma = Σ dy·n, dbeta = Σ dy.
func layerNormGrad[T float](b *build) func() {
	x, gamma, mean, rstd, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	dx, dgamma, dbeta := b.out(0), b.out(1), b.out(2)
	d, ch := x.typ.DType, gamma.n
	if ch == 0 {
		return func() {}
	}
	rows := x.n / ch
	blocks, size := rowBlocks(rows, 2*ch)
	sumGN, sumG := b.scratch(d, blocks*ch), b.scratch(d, blocks*ch)
	b.rt().need(2 * ch * d.Size())
	each := b.rt().parallel(blocks, 1, func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			beta, scale := data[T](sumG)[k*ch:(k+1)*ch], data[T](sumGN)[k*ch:(k+1)*ch]
			clear(beta)
			clear(scale)
			first, last := k*size, min((k+1)*size, rows)
			vec.LayerNormGrad(data[T](dx)[first*ch:last*ch], scale, beta, data[T](x)[first*ch:last*ch], data[T](gamma),
				data[T](mean)[first:last], data[T](rstd)[first:last], data[T](dy)[first*ch:last*ch], scratchOf[T](w, 2*ch))
		}
	})
	return func() {
		each()
		vec.SumRows(data[T](dgamma), data[T](sumGN), blocks, ch, ch)
		vec.SumRows(data[T](dbeta), data[T](sumG), blocks, ch, ch)
	}
}
