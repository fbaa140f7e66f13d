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

func buildBatchNorm(b *build) (func(), error) {
	return byFloat(b, batchNorm[float64], batchNorm[float32])
}

// batchNorm is y = gamma·(x-mean)/sqrt(variance+epsilon) + beta with the mean and biased variance over all rows.
func batchNorm[T float](b *build) func() {
	x, gamma, beta, y, mean, variance := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	d, ch := x.typ.DType, gamma.n
	if ch == 0 {
		return func() {}
	}
	rows := x.n / ch
	blocks, size := rowBlocks(rows, ch)
	partial := b.scratch(d, blocks*ch)
	scale, shift := b.scratch(d, ch), b.scratch(d, ch)
	b.rt().need(ch * d.Size())
	sums := b.rt().parallel(blocks, 1, func(_ *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first, last := k*size, min((k+1)*size, rows)
			vec.SumRows(data[T](partial)[k*ch:(k+1)*ch], data[T](x)[first*ch:last*ch], last-first, ch, ch)
		}
	})
	squares := b.rt().parallel(blocks, 1, func(w *worker, lo, hi int) {
		m, diff := data[T](mean), scratchOf[T](w, ch)
		for k := lo; k < hi; k++ {
			acc := data[T](partial)[k*ch : (k+1)*ch]
			clear(acc)
			for r := k * size; r < min((k+1)*size, rows); r++ {
				vec.Sub(diff, data[T](x)[r*ch:(r+1)*ch], m)
				vec.MulAdd(acc, diff, diff, acc)
			}
		}
	})
	finish := func(to *operand) {
		t := data[T](to)
		vec.SumRows(t, data[T](partial), blocks, ch, ch)
		for i := range t {
			t[i] /= T(rows)
		}
	}
	normalise := b.rt().parallel(rows, grain(2*ch), func(_ *worker, lo, hi int) {
		a, c := data[T](scale), data[T](shift)
		for r := lo; r < hi; r++ {
			vec.MulAdd(data[T](y)[r*ch:(r+1)*ch], data[T](x)[r*ch:(r+1)*ch], a, c)
		}
	})
	return func() {
		sums()
		finish(mean)
		squares()
		finish(variance)
		m, v, g, s, a, c := data[T](mean), data[T](variance), data[T](gamma), data[T](beta), data[T](scale), data[T](shift)
		for i := range a {
			a[i] = T(float64(g[i]) / math.Sqrt(float64(v[i])+epsilon))
			c[i] = s[i] - m[i]*a[i]
		}
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
	d, ch := x.typ.DType, gamma.n
	if ch == 0 {
		return func() {}
	}
	rows := x.n / ch
	blocks, size := rowBlocks(rows, ch)
	sumG, sumGN := b.scratch(d, blocks*ch), b.scratch(d, blocks*ch)
	rstd, negMean := b.scratch(d, ch), b.scratch(d, ch)
	onX, onDy, shift := b.scratch(d, ch), b.scratch(d, ch), b.scratch(d, ch)
	b.rt().need(ch * d.Size())
	sums := b.rt().parallel(blocks, 1, func(w *worker, lo, hi int) {
		m, diff := data[T](negMean), scratchOf[T](w, ch)
		for k := lo; k < hi; k++ {
			acc, acc2 := data[T](sumG)[k*ch:(k+1)*ch], data[T](sumGN)[k*ch:(k+1)*ch]
			clear(acc)
			clear(acc2)
			for r := k * size; r < min((k+1)*size, rows); r++ {
				g := data[T](dy)[r*ch : (r+1)*ch]
				vec.Add(acc, acc, g)
				vec.Add(diff, data[T](x)[r*ch:(r+1)*ch], m)
				vec.MulAdd(acc2, diff, g, acc2)
			}
		}
	})
	gradient := b.rt().parallel(rows, grain(4*ch), func(_ *worker, lo, hi int) {
		a, c, s := data[T](onX), data[T](onDy), data[T](shift)
		for r := lo; r < hi; r++ {
			out := data[T](dx)[r*ch : (r+1)*ch]
			vec.MulAdd(out, data[T](x)[r*ch:(r+1)*ch], a, s)
			vec.MulAdd(out, data[T](dy)[r*ch:(r+1)*ch], c, out)
		}
	})
	return func() {
		r, nm, m, v, g := data[T](rstd), data[T](negMean), data[T](mean), data[T](variance), data[T](gamma)
		for i := range r {
			r[i] = T(1 / math.Sqrt(float64(v[i])+epsilon))
			nm[i] = -m[i]
		}
		sums()
		dg, db := data[T](dgamma), data[T](dbeta)
		vec.SumRows(db, data[T](sumG), blocks, ch, ch)
		vec.SumRows(dg, data[T](sumGN), blocks, ch, ch)
		a, c, s := data[T](onX), data[T](onDy), data[T](shift)
		for i := range dg {
			dg[i] *= r[i]
			c[i] = g[i] * r[i]
			a[i] = -c[i] * r[i] * dg[i] / T(rows)
			s[i] = -c[i]*db[i]/T(rows) - m[i]*a[i]
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
	return b.rowLoop(x, 6, func(_ *worker, r, lo, hi int) {
		row, out := data[T](x)[lo:hi], data[T](y)[lo:hi]
		n := T(len(row))
		m := vec.Sum(row) / n
		vec.AddScalar(out, row, -m)
		s := T(1 / math.Sqrt(float64(vec.Dot(out, out)/n)+epsilon))
		data[T](mean)[r], data[T](rstd)[r] = m, s
		vec.Scale(out, out, s)
		vec.MulAdd(out, out, data[T](gamma), data[T](beta))
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
		both := scratchOf[T](w, 2*ch)
		norm, g := both[:ch], both[ch:]
		for k := lo; k < hi; k++ {
			acc, acc2 := data[T](sumG)[k*ch:(k+1)*ch], data[T](sumGN)[k*ch:(k+1)*ch]
			clear(acc)
			clear(acc2)
			for r := k * size; r < min((k+1)*size, rows); r++ {
				s, up, out := data[T](rstd)[r], data[T](dy)[r*ch:(r+1)*ch], data[T](dx)[r*ch:(r+1)*ch]
				vec.AddScalar(norm, data[T](x)[r*ch:(r+1)*ch], -data[T](mean)[r])
				vec.Scale(norm, norm, s)
				vec.Add(acc, acc, up)
				vec.MulAdd(acc2, up, norm, acc2)
				vec.Mul(g, up, data[T](gamma))
				meanG, meanGN := vec.Sum(g)/T(ch), vec.Dot(g, norm)/T(ch)
				vec.Scale(norm, norm, -meanGN)
				vec.AddScalar(g, g, -meanG)
				vec.Add(out, g, norm)
				vec.Scale(out, out, s)
			}
		}
	})
	return func() {
		each()
		vec.SumRows(data[T](dgamma), data[T](sumGN), blocks, ch, ch)
		vec.SumRows(data[T](dbeta), data[T](sumG), blocks, ch, ch)
	}
}
