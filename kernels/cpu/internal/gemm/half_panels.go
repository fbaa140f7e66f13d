package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// Matrices that many products read are kept in panels for the whole of K: of pairs where products come in pairs, else
// widened. A panel holds the numbers that [halfJob.packB] would make for each block of K, one block after the other, so
// products have the same bits with it.

// HalfPanels returns the layout of the panels of the product's B and how many numbers of 32 bits they are.
func HalfPanels(a *HalfArgs) (tile.Layout, int) {
	n := a.normal()
	p, width := newHalfPlan(&n, 1), micro.PanelWidth[float32]()
	layout := micro.Layout[float32]()
	if p.pairs {
		layout = micro.PairsLayout()
	}
	return layout, ceil(n.N, width) * width * p.k
}

// PackHalf writes the product's B, of which there is one for the whole batch, to dst, which has the size that
// [HalfPanels] says.
func PackHalf(p *pool.Pool, dst []float32, a *HalfArgs) {
	j := &halfJob{args: a.normal()}
	j.plan = newHalfPlan(&j.args, 1)
	p.Parallel(ceil(a.N, micro.PanelWidth[float32]()), 1, &halfPacking{j, dst})
}

type halfPacking struct {
	job *halfJob
	dst []float32
}

// Run makes the panels [lo, hi).
func (t *halfPacking) Run(_, lo, hi int) {
	a, k, width := &t.job.args, t.job.plan.k, micro.PanelWidth[float32]()
	var lines []float32
	if a.TransB {
		lines = make([]float32, k*width)
	}
	for i := lo; i < hi; i++ {
		t.job.packB(t.dst[i*k*width:][:k*width], lines, a.B, 0, k, i*width, min(width, a.N-i*width))
	}
}
