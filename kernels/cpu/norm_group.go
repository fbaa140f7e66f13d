package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// groupRows is the geometry of a group normalization. Each example consists of rows of channels, and is cut into blocks
// if examples are few and large.
type groupRows struct {
	examples, rows, ch int
	groups, in         int // number of groups, and of channels in each
	period             int // of tiles
	blocks, size       int // size: rows of a block of an example
}

const (
	manyExamples = 8       // enough to keep several workers busy
	groupBlock   = 1 << 16 // numbers in a block of a large example
)

func newGroupRows(x, gamma *plan.Operand, groups int) *groupRows {
	r := &groupRows{examples: x.Typ.Shape[0], ch: gamma.N, groups: groups, blocks: 1}
	if x.N == 0 {
		return r
	}
	r.rows, r.in, r.period = x.N/r.examples/r.ch, r.ch/groups, vec.Period(r.ch)
	r.size = r.rows
	if r.examples < manyExamples {
		r.size = min(max(groupBlock/r.ch, 1), r.rows)
		r.blocks = (r.rows + r.size - 1) / r.size
	}
	return r
}

// block returns the elements of block k of example n, and its number of rows.
func (r *groupRows) block(n, k int) (lo, hi, rows int) {
	first, last := k*r.size, min((k+1)*r.size, r.rows)
	return (n*r.rows + first) * r.ch, (n*r.rows + last) * r.ch, last - first
}

// run returns a function that calls, for each example, sum for all blocks, then finish, then apply for all blocks. If
// an example is one block, it stays in the cache meanwhile.
func (r *groupRows) run(rt *runtime, sum func(n, k int), finish func(w *worker, n int), apply func(n, k int)) func() {
	if r.blocks == 1 {
		return rt.parallel(r.examples, grain(2*r.rows*r.ch), func(w *worker, lo, hi int) {
			for n := lo; n < hi; n++ {
				sum(n, 0)
				finish(w, n)
				apply(n, 0)
			}
		})
	}
	each := func(f func(n, k int)) func() {
		return rt.parallel(r.examples*r.blocks, 1, func(_ *worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				f(i/r.blocks, i%r.blocks)
			}
		})
	}
	sums, applies := each(sum), each(apply)
	finishes := rt.parallel(r.examples, 1, func(w *worker, lo, hi int) {
		for n := lo; n < hi; n++ {
			finish(w, n)
		}
	})
	return func() {
		sums()
		finishes()
		applies()
	}
}

// perChannel reserves tiles with one number for each channel of each example.
func (r *groupRows) perChannel(b *build, d ir.DType) *plan.Operand {
	return b.scratch(d, r.examples*r.period)
}

func buildGroupNorm(b *build) (func(), error) {
	return byFloat(b, groupNorm[float64], groupNorm[float32])
}

// groupNorm computes y = gamma·(x-mean)·rstd + beta for each group of channels of an example, with the statistics of
// the group's channels combined.
func groupNorm[T block.Float](b *build) func() {
	x, gamma, beta, y, mean, rstd := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.out(2)
	a := b.n.Attrs.(ir.GroupNormAttrs)
	r := newGroupRows(x, gamma, a.Groups)
	if x.N == 0 { // the mean and the variance of nothing are NaN
		return func() {
			fillWith(plan.Data[T](mean), T(math.NaN()))
			fillWith(plan.Data[T](rstd), T(math.NaN()))
		}
	}
	moments := b.scratch(ir.Float64, 2*r.examples*r.blocks*r.ch)
	scale, shift := r.perChannel(b, x.Typ.DType), r.perChannel(b, x.Typ.DType)
	of := func(n, k int) (means, squares []float64) {
		v := plan.Data[float64](moments)[2*(n*r.blocks+k)*r.ch:]
		return v[:r.ch], v[r.ch : 2*r.ch]
	}
	tile := func(o *plan.Operand, n int) []T { return plan.Data[T](o)[n*r.period : (n+1)*r.period] }
	return r.run(b.rt(), func(n, k int) {
		lo, hi, rows := r.block(n, k)
		means, squares := of(n, k)
		vec.MomentsOf(means, squares, linesOf[T](x, lo, hi), rows, r.ch)
	}, func(_ *worker, n int) {
		by, to := tile(scale, n), tile(shift, n)
		gammas, betas := plan.Data[T](gamma), plan.Data[T](beta)
		for g := range r.groups {
			middle, q := r.together(n, g, of)
			m, s := T(middle), T(1/math.Sqrt(q/float64(r.rows*r.in)+a.Epsilon))
			plan.Data[T](mean)[n*r.groups+g], plan.Data[T](rstd)[n*r.groups+g] = m, s
			lo, hi := g*r.in, (g+1)*r.in
			scales, shifts, beta := by[lo:hi], to[lo:hi], betas[lo:hi]
			for c, v := range gammas[lo:hi] {
				v *= s
				scales[c], shifts[c] = v, beta[c]-T(m*v)
			}
		}
		vec.Repeat(by[r.ch:], by[:r.ch])
		vec.Repeat(to[r.ch:], to[:r.ch])
	}, func(n, k int) {
		lo, hi, _ := r.block(n, k)
		vec.AffineRows(plan.Data[T](y)[lo:hi], plan.Data[T](x)[lo:hi], nil, tile(scale, n), tile(shift, n), false)
	})
}

// together returns the mean of a group and the sum of squared differences from it. It combines the moments of the
// group's channels in all blocks.
func (r *groupRows) together(n, g int, of func(n, k int) (means, squares []float64)) (mean, squares float64) {
	lo, hi := g*r.in, (g+1)*r.in
	for k := range r.blocks {
		means, _ := of(n, k)
		_, _, rows := r.block(n, k)
		mean += sumOf(means[lo:hi]) * float64(rows)
	}
	mean /= float64(r.rows * r.in)
	for k := range r.blocks {
		means, more := of(n, k)
		_, _, rows := r.block(n, k)
		off := 0.0
		for _, m := range means[lo:hi] {
			off += (m - mean) * (m - mean)
		}
		squares += sumOf(more[lo:hi]) + off*float64(rows)
	}
	return mean, squares
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}
