package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Batch normalisation sees its operand as rows of channels. Rows are cut into blocks whose number depends on the shape only; the
// blocks' sums are added in order.

// rowBlocks cuts rows of the given width for a reduction over rows.
func rowBlocks(rows, width int) (count, size int) {
	size = max(grain(width), 1)
	if count = (rows + size - 1) / size; count > 64 {
		size = (rows + 63) / 64
		count = (rows + size - 1) / size
	}
	return count, size
}

// channelRows is the geometry of a batch normalisation. A few rows at a time are one vector, since channels are often few: tile is
// a vector of that length that repeats a channel vector.
type channelRows struct {
	rows, ch     int
	tile         int // a multiple of ch
	blocks, size int // of rows
}

func newChannelRows(x, gamma *operand) *channelRows {
	r := &channelRows{ch: gamma.n}
	if r.ch > 0 {
		r.rows = x.n / r.ch
		r.tile = max(1024/r.ch, 1) * r.ch
		r.blocks, r.size = rowBlocks(r.rows, r.ch)
	}
	return r
}

// repeat fills tile with copies of v.
func repeat[T any](tile, v []T) {
	for len(tile) > 0 {
		tile = tile[copy(tile, v):]
	}
}

// eachTile calls f with the bounds of the pieces of the elements [lo, hi).
func (r *channelRows) eachTile(lo, hi int, f func(lo, hi int)) {
	for ; lo < hi; lo += r.tile {
		f(lo, min(lo+r.tile, hi))
	}
}

// block returns the elements of row block k.
func (r *channelRows) block(k int) (lo, hi int) {
	return k * r.size * r.ch, min((k+1)*r.size, r.rows) * r.ch
}

func buildBatchNorm(b *build) (func(), error) {
	return byFloat(b, batchNorm[float64], batchNorm[float32])
}

// batchNorm is y = gamma·(x-mean)/sqrt(variance+epsilon) + beta with the mean and biased variance over all rows, and what the unit
// does to y besides.
func batchNorm[T float](b *build) func() {
	x, gamma, beta, y, mean, variance := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	d, r := x.typ.DType, newChannelRows(x, gamma)
	if r.ch == 0 {
		return func() {}
	}
	var addend *operand
	relu := false
	if e := b.u.fused; e != nil {
		relu = e.relu
		if e.addend >= 0 {
			addend = &b.operands[e.addend]
		}
	}
	partial := b.scratch(d, r.blocks*r.ch)
	center, scale, shift := b.scratch(d, r.tile), b.scratch(d, r.tile), b.scratch(d, r.tile)
	b.rt().need(2 * r.tile * d.Size())
	sums := b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first, last := r.block(k)
			vec.SumRows(data[T](partial)[k*r.ch:(k+1)*r.ch], data[T](x)[first:last], (last-first)/r.ch, r.ch, r.ch)
		}
	})
	squares := b.rt().parallel(r.blocks, 1, func(w *worker, lo, hi int) {
		both := scratchOf[T](w, 2*r.tile)
		acc, diff := both[:r.tile], both[r.tile:]
		for k := lo; k < hi; k++ {
			clear(acc)
			first, last := r.block(k)
			r.eachTile(first, last, func(lo, hi int) {
				d := diff[:hi-lo]
				vec.Sub(d, data[T](x)[lo:hi], data[T](center))
				vec.MulAdd(acc[:hi-lo], d, d, acc)
			})
			vec.SumRows(data[T](partial)[k*r.ch:(k+1)*r.ch], acc, r.tile/r.ch, r.ch, r.ch)
		}
	})
	average := func(to *operand) {
		t := data[T](to)
		vec.SumRows(t, data[T](partial), r.blocks, r.ch, r.ch)
		for i := range t {
			t[i] /= T(r.rows)
		}
	}
	normalise := b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		first, _ := r.block(lo)
		_, last := r.block(hi - 1)
		r.eachTile(first, last, func(lo, hi int) {
			out := data[T](y)[lo:hi]
			vec.MulAdd(out, data[T](x)[lo:hi], data[T](scale), data[T](shift))
			if addend != nil {
				vec.Add(out, out, data[T](addend)[lo:hi])
			}
			if relu {
				vec.Relu(out, out)
			}
		})
	})
	return func() {
		sums()
		average(mean)
		repeat(data[T](center), data[T](mean))
		squares()
		average(variance)
		m, v, g, s, a, c := data[T](mean), data[T](variance), data[T](gamma), data[T](beta), data[T](scale), data[T](shift)
		for i := range r.ch {
			a[i] = T(float64(g[i]) / math.Sqrt(float64(v[i])+epsilon))
			c[i] = s[i] - m[i]*a[i]
		}
		repeat(a[r.ch:], a[:r.ch])
		repeat(c[r.ch:], c[:r.ch])
		normalise()
	}
}

func buildBatchNormGrad(b *build) (func(), error) {
	return byFloat(b, batchNormGrad[float64], batchNormGrad[float32])
}

// batchNormGrad: with n = (x-mean)·rstd, dbeta = Σ dy, dgamma = Σ dy·n, dx = gamma·rstd·(dy - dbeta/N - n·dgamma/N).
func batchNormGrad[T float](b *build) func() {
	x, gamma, mean, variance, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	dx, dgamma, dbeta := b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	d, r := x.typ.DType, newChannelRows(x, gamma)
	if r.ch == 0 {
		return func() {}
	}
	sumG, sumGN := b.scratch(d, r.blocks*r.ch), b.scratch(d, r.blocks*r.ch)
	rstd, center := b.scratch(d, r.ch), b.scratch(d, r.tile)
	onX, onDy, shift := b.scratch(d, r.tile), b.scratch(d, r.tile), b.scratch(d, r.tile)
	b.rt().need(2 * r.tile * d.Size())
	sums := b.rt().parallel(r.blocks, 1, func(w *worker, lo, hi int) {
		both := scratchOf[T](w, 2*r.tile)
		acc, diff := both[:r.tile], both[r.tile:]
		for k := lo; k < hi; k++ {
			clear(acc)
			first, last := r.block(k)
			r.eachTile(first, last, func(lo, hi int) {
				d := diff[:hi-lo]
				vec.Sub(d, data[T](x)[lo:hi], data[T](center))
				vec.MulAdd(acc[:hi-lo], d, data[T](dy)[lo:hi], acc)
			})
			vec.SumRows(data[T](sumGN)[k*r.ch:(k+1)*r.ch], acc, r.tile/r.ch, r.ch, r.ch)
			vec.SumRows(data[T](sumG)[k*r.ch:(k+1)*r.ch], data[T](dy)[first:last], (last-first)/r.ch, r.ch, r.ch)
		}
	})
	gradient := b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		first, _ := r.block(lo)
		_, last := r.block(hi - 1)
		r.eachTile(first, last, func(lo, hi int) {
			out := data[T](dx)[lo:hi]
			vec.MulAdd(out, data[T](x)[lo:hi], data[T](onX), data[T](shift))
			vec.MulAdd(out, data[T](dy)[lo:hi], data[T](onDy), out)
		})
	})
	return func() {
		s, m, v, g := data[T](rstd), data[T](mean), data[T](variance), data[T](gamma)
		for i := range s {
			s[i] = T(1 / math.Sqrt(float64(v[i])+epsilon))
		}
		repeat(data[T](center), m)
		sums()
		dg, db := data[T](dgamma), data[T](dbeta)
		vec.SumRows(db, data[T](sumG), r.blocks, r.ch, r.ch)
		vec.SumRows(dg, data[T](sumGN), r.blocks, r.ch, r.ch)
		a, c, t := data[T](onX), data[T](onDy), data[T](shift)
		for i := range dg {
			if r.rows == 0 { // the mean and the variance of nothing are NaN, a sum of nothing is 0
				continue
			}
			dg[i] *= s[i]
			c[i] = g[i] * s[i]
			a[i] = -c[i] * s[i] * dg[i] / T(r.rows)
			t[i] = -c[i]*db[i]/T(r.rows) - m[i]*a[i]
		}
		for _, v := range [...][]T{a, c, t} {
			repeat(v[r.ch:], v[:r.ch])
		}
		gradient()
	}
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
