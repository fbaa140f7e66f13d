package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// channelRows is the geometry of a batch normalization. Its operand consists of rows of channels, cut into blocks.
type channelRows struct {
	rows, ch     int
	period       int // of tiles
	blocks, size int // size: rows of a block
	piece        int // how many elements are computed at a time
	half         bool
}

func newChannelRows(x, gamma *plan.Operand) *channelRows {
	r := &channelRows{ch: gamma.N}
	if r.ch > 0 {
		r.rows, r.period = x.N/r.ch, vec.Period(r.ch)
		r.blocks, r.size = rowBlocks(r.rows, r.ch)
	}
	r.piece = x.N
	return r
}

// halves makes the rows be computed a piece at a time if an operand has 16 bits.
func (r *channelRows) halves(b *build, operands ...*plan.Operand) {
	if r.half = anyHalf(operands...); r.half {
		r.piece = r.period * max(halfPieces/r.period, 1)
		b.rt().need(4 * 2 * vec.LinesScratch)
	}
}

// block returns the rows of block k.
func (r *channelRows) block(k int) (lo, hi int) { return k * r.size, min((k+1)*r.size, r.rows) }

// moments holds the moments of blocks of rows: for each block the means of all channels, then the sums of squared
// differences from them.
type moments struct {
	memory *plan.Operand // float64
	counts []int         // rows of each block; the moments of blocks without rows are undefined
}

// of returns the moments of block k.
func (m *moments) of(k, channels int) (mean, squares []float64) {
	v := plan.Data[float64](m.memory)[2*k*channels:]
	return v[:channels], v[channels : 2*channels]
}

// merge combines the moments of all blocks, for channels [lo, hi).
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

// gatherMoments returns memory for the moments of the unit's result, by blocks, if a batch normalization will read it,
// else nil.
func (b *build) gatherMoments(counts []int, channels int) *moments {
	result := b.n.Outputs[0]
	if b.u.Fused != nil {
		result = b.u.Fused.Result
	}
	last := -1
	for _, i := range b.Users[result] {
		if n := &b.Program.Nodes[i]; n.Op == ir.BatchNorm && n.Inputs[0] == result && b.UnitOf[i] != nil {
			last = max(last, b.UnitOf[i].Time)
		}
	}
	if b.Plain || b.u.Constant || last <= b.u.Time {
		return nil
	}
	m := &moments{memory: b.scratch(ir.Float64, 2*len(counts)*channels), counts: counts}
	m.memory.Mem.Last = last
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
func rowMoments[T block.Float](b *build, x *plan.Operand, r *channelRows) (*moments, func()) {
	m, in := &moments{memory: b.scratch(ir.Float64, 2*r.ch*r.blocks), counts: make([]int, r.blocks)}, ports[T](b, 0, r.piece, x)[0]
	for k := range m.counts {
		lo, hi := r.block(k)
		m.counts[k] = hi - lo
	}
	return m, b.rt().parallel(r.blocks, 1, func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first, last := r.block(k)
			mean, squares := m.of(k, r.ch)
			vec.MomentsOf(mean, squares, in.lines(w, first*r.ch, last*r.ch, 0, r.half), last-first, r.ch)
		}
	})
}

// batchNorm computes y = gamma·(x-mean)/sqrt(variance+epsilon) + beta with the mean and biased variance over all rows,
// and then whatever else the unit does to y.
func batchNorm[T block.Float](b *build) func() {
	x, gamma, beta, y, mean, variance := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	epsilon := b.n.Attrs.(ir.NormAttrs).Epsilon
	r := newChannelRows(x, gamma)
	if r.ch == 0 {
		return func() {}
	}
	var addend *plan.Operand
	relu := false
	if e := b.u.Fused; e != nil {
		relu = e.Relu
		if e.Addend >= 0 {
			addend = &b.Operands[e.Addend]
		}
	}
	if r.rows == 0 { // the mean and the variance of nothing are NaN
		return func() {
			fillWith(plan.Data[T](mean), T(math.NaN()))
			fillWith(plan.Data[T](variance), T(math.NaN()))
		}
	}
	r.halves(b, x, addend, y)
	p := ports[T](b, 0, r.piece, x, addend, y)
	m, sum := b.gathered[b.n.Inputs[0]], func() {}
	if m == nil {
		m, sum = rowMoments[T](b, x, r)
	}
	total := b.scratch(ir.Float64, 2*r.ch)
	scale, shift := b.scratch(gamma.Typ.DType, r.period), b.scratch(gamma.Typ.DType, r.period)
	finish := b.rt().parallel(r.ch, grain(len(m.counts)*4), func(_ *worker, lo, hi int) {
		means, squares := plan.Data[float64](total)[lo:hi], plan.Data[float64](total)[r.ch+lo:r.ch+hi]
		m.merge(means, squares, r.ch, lo, hi)
		for i := range means {
			plan.Data[T](mean)[lo+i], plan.Data[T](variance)[lo+i] = T(means[i]), T(squares[i]/float64(r.rows))
		}
		affineOf(plan.Data[T](scale)[lo:hi], plan.Data[T](shift)[lo:hi], plan.Data[T](mean)[lo:hi], plan.Data[T](variance)[lo:hi], plan.Data[T](gamma)[lo:hi], plan.Data[T](beta)[lo:hi], epsilon)
	})
	normalise := b.rt().parallel(r.blocks, 1, func(w *worker, lo, hi int) {
		first, _ := r.block(lo)
		_, last := r.block(hi - 1)
		at := first * r.ch
		at += normaliseInPlace(p, at, last*r.ch, plan.Data[T](scale), plan.Data[T](shift), relu)
		for ; at < last*r.ch; at += r.piece {
			normalisePiece(w, p, at, min(at+r.piece, last*r.ch), plan.Data[T](scale), plan.Data[T](shift), relu)
		}
	})
	return func() {
		sum()
		finish()
		for _, v := range [...][]T{plan.Data[T](scale), plan.Data[T](shift)} {
			vec.Repeat(v[r.ch:], v[:r.ch])
		}
		normalise()
	}
}

// normalisePiece computes elements [lo, hi) of the result. The ports are the operand, optionally what is added to it,
// and the result. If a 16-bit operand is added, the normalization is rounded first.
func normalisePiece[T block.Float](w *worker, p []rowPort[T], lo, hi int, scale, shift []T, relu bool) {
	x, y := p[0].read(w, lo, hi), p[2].place(w, lo, hi)
	var more []T
	if p[1].o != nil {
		more = p[1].read(w, lo, hi)
	}
	if p[1].half != nil {
		vec.AffineRows(y, x, nil, scale, shift, false)
		p[2].half.RoundAdd(plan.Data[uint16](p[2].o)[lo:hi], floatsOf(y), floatsOf(more), relu)
		return
	}
	vec.AffineRows(y, x, more, scale, shift, relu)
	p[2].store(lo, y)
}

// normaliseInPlace is normalisePiece without widening, for operands that are all of 16 bits, if there is a kernel for
// them. It returns how many elements it computed.
func normaliseInPlace[T block.Float](p []rowPort[T], lo, hi int, scale, shift []T, relu bool) int {
	if p[0].half == nil || p[2].half == nil || p[1].o != nil && p[1].half == nil {
		return 0
	}
	return p[0].half.AffineRows(p[2].halves(lo, hi), p[0].halves(lo, hi), p[1].halves(lo, hi), floatsOf(scale), floatsOf(shift), relu)
}

// affineOf stores a scale and a shift that are equivalent to the normalization.
func affineOf[T block.Float](scale, shift, mean, variance, gamma, beta []T, epsilon float64) {
	for i := range scale {
		scale[i] = T(float64(gamma[i]) / math.Sqrt(float64(variance[i])+epsilon))
		shift[i] = beta[i] - T(mean[i]*scale[i])
	}
}
