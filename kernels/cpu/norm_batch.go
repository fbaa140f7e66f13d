package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// channelRows is the geometry of a batch normalization: its operand is rows of channels, cut into blocks.
type channelRows struct {
	rows, ch     int
	period       int // of tiles
	blocks, size int // of rows
}

func newChannelRows(x, gamma *operand) *channelRows {
	r := &channelRows{ch: gamma.n}
	if r.ch > 0 {
		r.rows, r.period = x.n/r.ch, vec.Period(r.ch)
		r.blocks, r.size = rowBlocks(r.rows, r.ch)
	}
	return r
}

// block returns the rows of block k.
func (r *channelRows) block(k int) (lo, hi int) { return k * r.size, min((k+1)*r.size, r.rows) }

// moments are those of blocks of rows: for each the means of all channels, then the sums of squared differences from them.
type moments struct {
	memory *operand // float64
	counts []int    // rows of the blocks; of those without any, nothing is known
}

// of returns the moments of block k.
func (m *moments) of(k, channels int) (mean, squares []float64) {
	v := data[float64](m.memory)[2*k*channels:]
	return v[:channels], v[channels : 2*channels]
}

// merge puts the moments of all blocks together, for channels [lo, hi).
func (m *moments) merge(mean, squares []float64, channels, lo, hi int) {
	rows := 0
	clear(mean)
	clear(squares)
	for k, n := range m.counts {
		more, moreSquares := m.of(k, channels)
		vec.MergeMoments(mean, squares, rows, more[lo:hi], moreSquares[lo:hi], n)
		rows += n
	}
}

// gatherMoments returns memory for the moments of blocks of the unit's result if a batch normalization reads that later on, else nil.
func (b *build) gatherMoments(counts []int, channels int) *moments {
	result := b.n.Outputs[0]
	if b.u.fused != nil {
		result = b.u.fused.result
	}
	last := -1
	for _, i := range b.users[result] {
		if n := &b.p.Nodes[i]; n.Op == ir.BatchNorm && n.Inputs[0] == result && b.unitOf[i] != nil {
			last = max(last, b.unitOf[i].time)
		}
	}
	if b.plain || b.u.constant || last <= b.u.time {
		return nil
	}
	m := &moments{memory: b.scratch(ir.Float64, 2*len(counts)*channels), counts: counts}
	m.memory.mem.last = last
	if b.gathered == nil {
		b.gathered = map[ir.Value]*moments{}
	}
	b.gathered[result], b.gathers = m, true
	return m
}

func buildBatchNorm(b *build) (func(), error) {
	return byFloat(b, batchNorm[float64], batchNorm[float32])
}

// rowMoments returns the moments of blocks of x, and the loop that computes them.
func rowMoments[T float](b *build, x *operand, r *channelRows) (*moments, func()) {
	m := &moments{memory: b.scratch(ir.Float64, 2*r.ch*r.blocks), counts: make([]int, r.blocks)}
	for k := range m.counts {
		lo, hi := r.block(k)
		m.counts[k] = hi - lo
	}
	return m, b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first, last := r.block(k)
			mean, squares := m.of(k, r.ch)
			vec.Moments(mean, squares, data[T](x)[first*r.ch:last*r.ch], last-first, r.ch)
		}
	})
}

// batchNorm is y = gamma·(x-mean)/sqrt(variance+epsilon) + beta with the mean and biased variance over all rows, and what the unit
// does to y besides.
func batchNorm[T float](b *build) func() {
	x, gamma, beta, y, mean, variance := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	r := newChannelRows(x, gamma)
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
	if r.rows == 0 { // the mean and the variance of nothing are NaN
		return func() {
			fillWith(data[T](mean), T(math.NaN()))
			fillWith(data[T](variance), T(math.NaN()))
		}
	}
	m, sum := b.gathered[b.n.Inputs[0]], func() {}
	if m == nil {
		m, sum = rowMoments[T](b, x, r)
	}
	total := b.scratch(ir.Float64, 2*r.ch)
	scale, shift := b.scratch(x.typ.DType, r.period), b.scratch(x.typ.DType, r.period)
	finish := b.rt().parallel(r.ch, grain(len(m.counts)*4), func(_ *worker, lo, hi int) {
		means, squares := data[float64](total)[lo:hi], data[float64](total)[r.ch+lo:r.ch+hi]
		m.merge(means, squares, r.ch, lo, hi)
		for i := range means {
			data[T](mean)[lo+i], data[T](variance)[lo+i] = T(means[i]), T(squares[i]/float64(r.rows))
		}
		affineOf(data[T](scale)[lo:hi], data[T](shift)[lo:hi], data[T](mean)[lo:hi], data[T](variance)[lo:hi], data[T](gamma)[lo:hi], data[T](beta)[lo:hi], epsilon)
	})
	normalise := b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		first, _ := r.block(lo)
		_, last := r.block(hi - 1)
		first, last = first*r.ch, last*r.ch
		var more []T
		if addend != nil {
			more = data[T](addend)[first:last]
		}
		vec.AffineRows(data[T](y)[first:last], data[T](x)[first:last], more, data[T](scale), data[T](shift), relu)
	})
	return func() {
		sum()
		finish()
		for _, v := range [...][]T{data[T](scale), data[T](shift)} {
			vec.Repeat(v[r.ch:], v[:r.ch])
		}
		normalise()
	}
}

// affineOf stores the scale and the shift that a normalization comes to.
func affineOf[T float](scale, shift, mean, variance, gamma, beta []T, epsilon float64) {
	for i := range scale {
		scale[i] = T(float64(gamma[i]) / math.Sqrt(float64(variance[i])+epsilon))
		shift[i] = beta[i] - mean[i]*scale[i]
	}
}

func buildBatchNormGrad(b *build) (func(), error) {
	return byFloat(b, batchNormGrad[float64], batchNormGrad[float32])
}

// batchNormGrad: with n = (x-mean)·rstd, dbeta = Σ dy, dgamma = Σ dy·n, dx = gamma·rstd·(dy - dbeta/N - n·dgamma/N). If the unit holds
// the gradient of a relu behind the normalization, dy is the gradient with respect to the relu's result: where that is 0 is computed again
// from x.
func batchNormGrad[T float](b *build) func() {
	x, gamma, mean, variance, dy := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	dx, dgamma, dbeta := b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	d, r := x.typ.DType, newChannelRows(x, gamma)
	if r.ch == 0 {
		return func() {}
	}
	var beta, scale, shift *operand
	if e := b.u.fused; e != nil {
		dy, beta = &b.operands[e.upstream], &b.operands[e.bias]
		scale, shift = b.scratch(d, r.period), b.scratch(d, r.period)
	}
	mask := func() (by, to []T) {
		if beta == nil {
			return nil, nil
		}
		return data[T](scale), data[T](shift)
	}
	partial := b.scratch(ir.Float64, 2*r.ch*r.blocks)
	center, onX, onDy, constant := b.scratch(d, r.period), b.scratch(d, r.period), b.scratch(d, r.period), b.scratch(d, r.period)
	sums := b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		by, to := mask()
		for k := lo; k < hi; k++ {
			first, last := r.block(k)
			p := data[float64](partial)[2*k*r.ch : 2*(k+1)*r.ch]
			vec.SumProducts(p[:r.ch], p[r.ch:], data[T](dy)[first*r.ch:last*r.ch], data[T](x)[first*r.ch:last*r.ch], last-first, r.ch, data[T](center), by, to)
		}
	})
	finish := func() {
		p := data[float64](partial)
		for i := range data[T](dgamma) {
			sum, product := 0.0, 0.0
			for k := i; k < len(p); k += 2 * r.ch {
				sum, product = sum+p[k], product+p[k+r.ch]
			}
			rstd := 1 / math.Sqrt(float64(data[T](variance)[i])+epsilon)
			data[T](dbeta)[i], data[T](dgamma)[i] = T(sum), T(product*rstd)
			if r.rows == 0 { // the mean and the variance of nothing are NaN, a sum of nothing is 0
				data[T](dgamma)[i] = 0
				continue
			}
			by := float64(data[T](gamma)[i]) * rstd
			a := -by * rstd * product * rstd / float64(r.rows)
			data[T](onDy)[i], data[T](onX)[i] = T(by), T(a)
			data[T](constant)[i] = T(-by*sum/float64(r.rows) - float64(data[T](mean)[i])*float64(T(a)))
		}
		for _, o := range [...]*operand{onX, onDy, constant} {
			v := data[T](o)
			vec.Repeat(v[r.ch:], v[:r.ch])
		}
	}
	gradient := b.rt().parallel(r.blocks, 1, func(_ *worker, lo, hi int) {
		first, _ := r.block(lo)
		_, last := r.block(hi - 1)
		first, last = first*r.ch, last*r.ch
		by, to := mask()
		vec.CombineRows(data[T](dx)[first:last], data[T](x)[first:last], data[T](dy)[first:last], data[T](onX), data[T](onDy), data[T](constant), by, to)
	})
	return func() {
		vec.Repeat(data[T](center), data[T](mean))
		if by, to := mask(); by != nil {
			affineOf(by[:r.ch], to[:r.ch], data[T](mean), data[T](variance), data[T](gamma), data[T](beta), epsilon)
			vec.Repeat(by[r.ch:], by[:r.ch])
			vec.Repeat(to[r.ch:], to[:r.ch])
		}
		sums()
		finish()
		gradient()
	}
}
