package gemm

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// PackedSize returns the number of elements of a packed B of k rows and n columns: n rounded up to whole panels, times
// k.
func PackedSize[T Float](n, k int) int {
	width := micro.PanelWidth[T]()
	return (n + width - 1) / width * width * k
}

// Layout is the layout that [PackB] writes and [Run] reads with the tile in use. Store it with panels that are kept: if
// it has changed since, read B itself or pack it again.
func Layout[T Float]() tile.Layout { return micro.Layout[T]() }

// PackB writes B[k, n] (stored n x k if trans) with row stride ldb into panels; a stride of 0 means that rows are
// contiguous. dst needs [PackedSize] elements.
func PackB[T Float](p *pool.Pool, dst, b []T, k, n, ldb int, trans bool) {
	if k <= 0 || n <= 0 {
		return
	}
	if ldb == 0 {
		ldb = n
		if trans {
			ldb = k
		}
	}
	if need := PackedSize[T](n, k); len(dst) < need {
		panic(fmt.Sprintf("gemm: packed B has room for %d elements, %d x %d needs %d", len(dst), k, n, need))
	}
	j := getJob[T]()
	j.args = Args[T]{N: n, K: k, B: b, LDB: ldb, TransB: trans}
	j.plan.shared = dst
	j.pack(p)
	putJob(j)
}

// packTask packs one panel after the other.
type packTask[T Float] struct{ job *job[T] }

func (t *packTask[T]) Run(worker, lo, hi int) {
	a := &t.job.args
	width, strict := micro.PanelWidth[T](), t.job.plan.source != shared
	for panel := lo; panel < hi; panel++ {
		n := panel * width
		if dst := t.job.plan.shared[n*a.K:]; a.Panels != nil {
			size := t.job.plan.localSize(a)
			memory := t.job.scratch[worker*size:][:size]
			copy(dst[:width*a.K], a.Panels.Panel(memory[t.job.plan.localSizeA(a):], 0, a.K, n))
		} else if strict && !a.TransB {
			micro.PackPanel(dst, a.B[n:], a.K, min(width, a.N-n), a.LDB, 1)
		} else {
			packPanel(dst, a.B, a, 0, a.K, n)
		}
	}
}

// packPanel packs the rows [k, k+rows) of the panel at column n of B. Past the last column it has zeros, or whatever
// follows in memory.
func packPanel[T Float](dst, b []T, a *Args[T], k, rows, n int) {
	cols := min(micro.PanelWidth[T](), a.N-n)
	if a.TransB {
		micro.PackPanel(dst, b[n*a.LDB+k:], rows, cols, 1, a.LDB)
	} else {
		micro.PackColumns(dst, b[k*a.LDB+n:], rows, cols, a.LDB)
	}
}
