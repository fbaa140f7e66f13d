package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A matrix times its own transpose is symmetric: all inner products of some vectors, a covariance, the steps by which
// Muon makes a matrix orthogonal. Only the panels above the diagonal are computed, with the blocks on it, and the
// others are their transposes. Both have the same bits, since they add the same products in the same order.

const (
	gramPanels = 3 // of the result, from which on those that are left out take longer than to copy
	gramSums   = sweepSums
)

// isGram reports whether the product may be computed so.
func (a *Args[T]) isGram() bool {
	return a.Gram && a.M == a.N && a.M >= gramPanels*micro.PanelWidth[T]() && a.K > gramSums && a.Bias == nil && !a.Accumulate && a.Panels == nil
}

// gramRows is how many of so many rows from row m on a panel has above the diagonal and in the block on it.
func gramRows[T Float](rows, m, column int) int {
	return min(rows, column+micro.PanelWidth[T]()-m)
}

// gramFirst is the first column from which on a chunk of the rows from m on has something to compute.
func gramFirst[T Float](m, column int) int {
	width := micro.PanelWidth[T]()
	return column + max(m-column, 0)/width*width
}

// gramTask copies what lies above the diagonal to where it lies below: one row of blocks after the other, in all
// entries of the batch.
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
