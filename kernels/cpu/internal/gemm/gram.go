package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A matrix times its own transpose is symmetric. Examples are the inner products of a set of vectors, a covariance, and
// the steps by which Muon makes a matrix orthogonal. Only the panels above the diagonal are computed, including the
// blocks on it; the others are their transposes. Both have the same bits, because they add the same products in the
// same order.

const (
	gramPanels = 3 // fewest panels of the result for which leaving out half of it saves more than the copy costs
	gramSums   = sweepSums
)

// isGram reports whether half of the product suffices.
func (a *Args[T]) isGram() bool {
	return a.Gram && a.M == a.N && a.M >= gramPanels*micro.PanelWidth[T]() && a.K > gramSums && a.Bias == nil && !a.Accumulate && a.Panels == nil && byGram.Taken()
}

// gramRows returns how many of the rows from row m on a panel has above the diagonal and in the block on it.
func gramRows[T Float](rows, m, column int) int {
	return min(rows, column+micro.PanelWidth[T]()-m)
}

// gramFirst returns the first column that a chunk of the rows from m on has to compute.
func gramFirst[T Float](m, column int) int {
	width := micro.PanelWidth[T]()
	return column + max(m-column, 0)/width*width
}

// gramTask copies what is above the diagonal to below it, one row of blocks after the other, in all entries of the
// batch.
type gramTask[T Float] struct{ job *job[T] }

func (j *job[T]) mirror(p *pool.Pool) {
	rows := ceil(j.args.N, micro.PanelWidth[T]())
	p.Parallel(j.plan.batch*rows, max(1<<14/(micro.PanelWidth[T]()*j.args.N), 1), &j.gram)
}

// Run implements pool.Task.
func (t *gramTask[T]) Run(_, lo, hi int) {
	a, width := &t.job.args, micro.PanelWidth[T]()
	rows := ceil(a.N, width)
	for i := lo; i < hi; i++ {
		entry, m := i/rows, i%rows*width
		c := a.C[entry/a.Batch[1]*a.StrideC[0]+entry%a.Batch[1]*a.StrideC[1]:]
		for n := 0; n < m; n += width {
			micro.Transpose(c[m*a.LDC+n:], c[n*a.LDC+m:], width, min(width, a.M-m), a.LDC, a.LDC)
		}
	}
}
