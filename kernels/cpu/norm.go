package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowBlocks cuts rows of the given width into blocks for a reduction over rows. The number of blocks depends only on
// the shape, and their sums are added in order.
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

// layerNorm computes y = gamma·(x-mean)·rstd + beta for each row.
func layerNorm[T block.Float](b *build) func() {
	x, gamma, beta, y, mean, rstd := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	ch := gamma.N
	if ch == 0 { // means of nothing
		return func() {
			for _, v := range []*plan.Operand{mean, rstd} {
				for i, all := 0, plan.Data[T](v); i < len(all); i++ {
					all[i] = T(math.NaN())
				}
			}
		}
	}
	if isShort[T](ch, shortNorm, shorter(shortNormDouble, shortNormDoubleAVX2)) {
		return layerNormShort[T](b, ch)
	}
	step := rowsAtOnce(x.N/ch, ch, x, y)
	p := ports[T](b, 0, step*ch, x, y)
	return b.rt().parallel(x.N/ch, grain(2*ch), func(w *worker, lo, hi int) {
		for ; lo < hi; lo += step {
			end := min(lo+step, hi)
			out := p[1].place(w, lo*ch, end*ch)
			vec.LayerNorm(out, p[0].read(w, lo*ch, end*ch), plan.Data[T](gamma), plan.Data[T](beta), plan.Data[T](mean)[lo:end], plan.Data[T](rstd)[lo:end], epsilon)
			p[1].store(lo*ch, out)
		}
	})
}

func buildLayerNormGrad(b *build) (func(), error) {
	return byFloat(b, layerNormGrad[float64], layerNormGrad[float32])
}

// layerNormGrad computes, with n = (x-mean)·rstd and g = gamma·dy: dx = rstd·(g - mean(g) - n·mean(g·n)), dgamma = Σ
// dy·n, dbeta = Σ dy.
func layerNormGrad[T block.Float](b *build) func() {
	x, gamma, mean, rstd, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	dx, dgamma, dbeta := b.out(0), b.out(1), b.out(2)
	d, ch := gamma.Typ.DType, gamma.N
	if ch == 0 {
		return func() {}
	}
	if isShort[T](ch, shortNormGrad, shorter(shortNormDouble, shortNormDoubleAVX2)) {
		return layerNormGradShort[T](b, ch)
	}
	rows := x.N / ch
	blocks, size := rowBlocks(rows, 2*ch)
	sumGN, sumG := b.scratch(d, blocks*ch), b.scratch(d, blocks*ch)
	b.rt().need(2 * ch * d.Size())
	step := rowsAtOnce(size, ch, x, dy, dx)
	p := ports[T](b, 2*ch, step*ch, x, dy, dx)
	each := b.rt().parallel(blocks, 1, func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			beta, scale := plan.Data[T](sumG)[k*ch:(k+1)*ch], plan.Data[T](sumGN)[k*ch:(k+1)*ch]
			clear(beta)
			clear(scale)
			for first, last := k*size, min((k+1)*size, rows); first < last; first += step {
				end := min(first+step, last)
				out := p[2].place(w, first*ch, end*ch)
				vec.LayerNormGrad(out, scale, beta, p[0].read(w, first*ch, end*ch), plan.Data[T](gamma),
					plan.Data[T](mean)[first:end], plan.Data[T](rstd)[first:end], p[1].read(w, first*ch, end*ch), scratchOf[T](w, 2*ch))
				p[2].store(first*ch, out)
			}
		}
	})
	return func() {
		each()
		vec.SumRows(plan.Data[T](dgamma), plan.Data[T](sumGN), blocks, ch, ch)
		vec.SumRows(plan.Data[T](dbeta), plan.Data[T](sumG), blocks, ch, ch)
	}
}
