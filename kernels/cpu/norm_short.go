package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Layer normalization of short rows works on columns of many rows, like softmax of such rows.

// The lengths of rows up to which they are transposed. Longer rows are computed one at a time, in assembly.
const (
	shortNorm       = 20
	shortNormGrad   = 15
	shortNormDouble = 15

	shortNormDoubleAVX2 = 7
)

func layerNormShort[T block.Float](b *build, n int) func() {
	x, gamma, beta, y, mean, rstd := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := T(b.n.Attrs.(ir.NormAttrs).Epsilon)
	r := newColumnsOfRows[T](n, 1)
	return r.loop(b, x, func(scratch []T, first, rows int) {
		columns := scratch[:n*rows]
		means, scales := plan.Data[T](mean)[first:first+rows], plan.Data[T](rstd)[first:first+rows]
		gammas, betas := plan.Data[T](gamma), plan.Data[T](beta)
		r.load(columns, plan.Data[T](x)[first*n:], rows)
		copy(means, column(columns, 0, rows))
		for k := 1; k < n; k++ {
			vec.Add(means, means, column(columns, k, rows))
		}
		vec.Scale(means, means, 1/T(n))
		clear(scales)
		for k := range n {
			c := column(columns, k, rows)
			vec.Sub(c, c, means)
			vec.MulAdd(scales, c, c, scales)
		}
		vec.Scale(scales, scales, 1/T(n))
		vec.AddScalar(scales, scales, epsilon)
		vec.Rsqrt(scales, scales)
		for k := range n {
			c := column(columns, k, rows)
			vec.Mul(c, c, scales)
			vec.Scale(c, c, gammas[k])
			vec.AddScalar(c, c, betas[k])
		}
		r.store(plan.Data[T](y)[first*n:], columns, rows)
	})
}

// layerNormGradShort is layerNormGrad for short rows. The sums for gamma and beta are summed by blocks, which are added
// in order.
func layerNormGradShort[T block.Float](b *build, n int) func() {
	x, gamma, mean, rstd, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	dx, dgamma, dbeta := b.out(0), b.out(1), b.out(2)
	r := newColumnsOfRows[T](n, 2)
	blocks := (x.N/n + r.most - 1) / r.most
	sumGN, sumG := b.scratch(x.Typ.DType, blocks*n), b.scratch(x.Typ.DType, blocks*n)
	each := r.loop(b, x, func(scratch []T, first, rows int) {
		size := n * r.most
		norms, ups := scratch[:n*rows], scratch[size:][:n*rows]
		a, c := scratch[2*size:][:rows], scratch[2*size+r.most:][:rows]
		means, scales := plan.Data[T](mean)[first:first+rows], plan.Data[T](rstd)[first:first+rows]
		at := first / r.most * n
		scale, shift, gammas := plan.Data[T](sumGN)[at:at+n], plan.Data[T](sumG)[at:at+n], plan.Data[T](gamma)
		r.load(norms, plan.Data[T](x)[first*n:], rows)
		r.load(ups, plan.Data[T](dy)[first*n:], rows)
		clear(a)
		clear(c)
		for k := range n {
			norm, up := column(norms, k, rows), column(ups, k, rows)
			vec.Sub(norm, norm, means)
			vec.Mul(norm, norm, scales)
			scale[k], shift[k] = vec.Dot(up, norm), vec.Sum(up)
			vec.Scale(up, up, gammas[k])
			vec.Add(a, a, up)
			vec.MulAdd(c, up, norm, c)
		}
		vec.Scale(a, a, 1/T(n))
		vec.Scale(c, c, 1/T(n))
		for k := range n {
			norm, up := column(norms, k, rows), column(ups, k, rows)
			vec.Mul(norm, norm, c)
			vec.Sub(up, up, a)
			vec.Sub(up, up, norm)
			vec.Mul(up, up, scales)
		}
		r.store(plan.Data[T](dx)[first*n:], ups, rows)
	})
	return func() {
		each()
		vec.SumRows(plan.Data[T](dgamma), plan.Data[T](sumGN), blocks, n, n)
		vec.SumRows(plan.Data[T](dbeta), plan.Data[T](sumG), blocks, n, n)
	}
}
