package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

const (
	rowMinElements = 1 << 15 // elements of B for each worker: some microseconds
	rowMinColumns  = 64      // columns of B for each worker, unless B is packed
	rowMatrix      = 384     // most numbers of B in float64 that a loop multiplies
)

// isRow reports whether the product is one row times a matrix that is row-major or packed, as in a prediction for a
// single example. It is as fast as B can be read, so B is read in the order of memory. For float64 there are no kernels
// but tiles, which are faster unless the matrix is small.
func (a *Args[T]) isRow() bool {
	return a.M == 1 && (sizeOf[T]() == 4 || micro.PadColumns[T](1) == 1 || a.K*a.N <= rowMatrix) && !a.isFew() && a.Panels == nil && (!a.TransB || a.Packed) && a.Batch == [2]int{1, 1} && (!a.TransA || a.LDA == 1) && byRow.Taken()
}

// rowTask computes columns of the product of a row.
type rowTask[T Float] struct{ job *job[T] }

// runRow computes the product of a single row. Columns are independent, so the result does not depend on how they are
// divided among the workers.
func runRow[T Float](p *pool.Pool, a *Args[T]) {
	least, step := rowMinColumns, 16
	if a.Packed {
		least, step = micro.PanelWidth[T](), micro.PanelWidth[T]()
	}
	parts := min(p.Size(), a.N*a.K/rowMinElements, a.N/least)
	if parts <= 1 {
		row(a, 0, a.N)
		return
	}
	j := getJob[T]()
	j.args = *a
	p.Parallel(a.N, ceil(ceil(a.N, parts), step)*step, &j.row)
	putJob(j)
}

// Run computes the columns [lo, hi).
func (t *rowTask[T]) Run(_, lo, hi int) { row(&t.job.args, lo, hi) }

func row[T Float](a *Args[T], lo, hi int) {
	c := a.C[lo:hi]
	switch {
	case a.Accumulate && a.Bias != nil:
		vec.Add(c, c, a.Bias[lo:hi])
	case a.Bias != nil:
		copy(c, a.Bias[lo:hi])
	case !a.Accumulate:
		clear(c)
	}
	if a.Packed {
		micro.AddRowPanels(c, a.A[:a.K], a.B[lo*a.K:])
	} else {
		micro.AddRowProduct(c, a.A[:a.K], a.B[lo:], a.LDB)
	}
	if a.ReLU {
		vec.Relu(c, c)
	}
}
