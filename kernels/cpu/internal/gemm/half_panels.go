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
	j := halfJobs.Get()
	j.args = a.normal()
	j.plan = newHalfPlan(&j.args, 1)
	j.packing.job, j.packing.dst = j, dst
	if need := j.plan.k * micro.PanelWidth[float32]() * max(p.Size(), 1); a.TransB && len(j.packing.lines) < need {
		j.packing.lines = make([]float32, need)
	}
	p.Parallel(ceil(a.N, micro.PanelWidth[float32]()), 1, &j.packing)
	lines := j.packing.lines
	if *j = (halfJob{}); len(lines) <= keptLines {
		j.packing.lines = lines
	}
	halfJobs.Put(j)
}

// keptLines is how much memory, in numbers, a job keeps for the next matrix that it packs: loops pack theirs at every
// step of training.
const keptLines = 1 << 18

// halfPacking makes panels.
type halfPacking struct {
	job   *halfJob
	dst   []float32
	lines []float32 // for each worker, rows of a transposed matrix
}

// Run makes the panels [lo, hi).
func (t *halfPacking) Run(worker, lo, hi int) {
	a, k, width := &t.job.args, t.job.plan.k, micro.PanelWidth[float32]()
	var lines []float32
	if a.TransB {
		lines = t.lines[worker*k*width:][:k*width]
	}
	for i := lo; i < hi; i++ {
		t.job.packB(t.dst[i*k*width:][:k*width], lines, a.B, 0, k, i*width, min(width, a.N-i*width))
	}
}
