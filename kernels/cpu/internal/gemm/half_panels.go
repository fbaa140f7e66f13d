package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Matrices that many products read are kept in panels for the whole of K: as pairs where the processor multiplies
// pairs, else widened. A panel holds, block by block, the numbers that [halfJob.packB] would make for each block of K.
// So products with it have the same bits.

// HalfPanels returns the layout of the panels of the product's B and their size in 32-bit words.
func HalfPanels(a *HalfArgs) (tile.Layout, int) {
	width := micro.PanelWidth[float32]()
	size := ceil(a.N, width) * width
	switch {
	case a.pairs() && a.panelRows() != ceil(a.K, 2):
		return tile.BFloat16x32Whole, size * a.panelRows()
	case a.pairs():
		return micro.PairsLayout(), size * ceil(a.K, 2)
	case a.Narrow:
		return tile.Bits16x32, size / 2 * a.K
	}
	return micro.Layout[float32](), size * a.K
}

// wholePairs is the number of pairs in a step of matrix registers.
const wholePairs = 16

// panelRows returns the number of rows of a panel. For matrix registers, long sums are rounded up to whole steps.
func (a *HalfArgs) panelRows() int {
	switch k := ceil(a.K, 2); {
	case !a.pairs():
		return a.K
	case k > wholePairs && micro.Matrices():
		return ceil(k, wholePairs) * wholePairs
	default:
		return k
	}
}

// pairs reports whether the product multiplies pairs of bfloat16.
func (a *HalfArgs) pairs() bool { return a.Type == vec.BFloat16 && micro.Pairs() }

// narrow reports whether panels hold 16-bit numbers, which are widened a block at a time.
func (a *HalfArgs) narrow() bool { return a.Narrow && !a.pairs() }

// narrowPanel returns k1 rows from k on of the panel at column n.
func (a *HalfArgs) narrowPanel(n, k, k1 int) []uint16 {
	return halvesOf(a.Packed)[n*a.K+k*micro.PanelWidth[float32]():][:k1*micro.PanelWidth[float32]()]
}

// packNarrow writes the panel of the columns [n, n+cols).
func (a *HalfArgs) packNarrow(dst []uint16, n, cols int) {
	width := micro.PanelWidth[float32]()
	if a.TransB {
		clear(dst)
		for c := range cols {
			for k, v := range a.B[(n+c)*a.LDB:][:a.K] {
				dst[k*width+c] = v
			}
		}
		return
	}
	for k := range a.K {
		row := dst[k*width:][:width]
		clear(row[copy(row, a.B[k*a.LDB+n:][:cols]):])
	}
}

// PackHalf packs the product's B, which the whole batch must share, into dst, which has the size that [HalfPanels]
// returns.
func PackHalf(p *pool.Pool, dst []float32, a *HalfArgs) {
	j := halfJobs.Get()
	j.args = a.normal()
	j.plan = newHalfPlan(&j.args, 1, false)
	j.packing.job, j.packing.dst = j, dst
	if need := min(j.plan.k, BlockK) * micro.PanelWidth[float32]() * max(p.Size(), 1); a.TransB && len(j.packing.lines) < need {
		j.packing.lines = make([]float32, need)
	}
	p.Parallel(ceil(a.N, micro.PanelWidth[float32]()), 1, &j.packing)
	lines := j.packing.lines
	*j = halfJob{}
	j.packing.lines = lines
	halfJobs.Put(j)
}

// halfPacking makes panels.
type halfPacking struct {
	job *halfJob
	dst []float32

	// lines holds, for each worker, a block of the rows of a transposed matrix. It is kept for the next use, because
	// training packs at each step.
	lines []float32
}

// Run makes the panels [lo, hi).
func (t *halfPacking) Run(worker, lo, hi int) {
	a, k, width := &t.job.args, t.job.plan.k, micro.PanelWidth[float32]()
	if size := a.panelRows() * width; size > k*width {
		for i := lo; i < hi; i++ {
			clear(t.dst[i*size+k*width : (i+1)*size])
		}
	}
	if !a.TransB && !a.narrow() {
		t.alongRows(lo, hi)
		return
	}
	block := min(k, BlockK)
	var lines []float32
	if a.TransB {
		lines = t.lines[worker*block*width:][:block*width]
	}
	for i := lo; i < hi; i++ {
		if a.narrow() {
			a.packNarrow(halvesOf(t.dst)[i*k*width:][:k*width], i*width, min(width, a.N-i*width))
			continue
		}
		for first := 0; first < k; first += block {
			rows := min(block, k-first)
			t.job.packB(t.dst[(i*a.panelRows()+first)*width:][:rows*width], lines, a.B, first, rows, i*width, min(width, a.N-i*width))
		}
	}
}

// alongRows makes the panels of a matrix that is stored by rows. A panel's part of a row is one or two cache lines, and
// the next row may lie in another page. Making a panel from top to bottom would take a page lookup for each line, and
// wait for each to come from memory. So a block of rows is written to several panels before the next rows are, and
// [vec.PairRows] prefetches the lines that the next panel reads.
func (t *halfPacking) alongRows(lo, hi int) {
	a, k, width := &t.job.args, t.job.plan.k, micro.PanelWidth[float32]()
	for group := lo; group < hi; group += panelsAtOnce {
		for first := 0; first < k; first += rowsAtOnce {
			rows := min(rowsAtOnce, k-first)
			for i := group; i < min(group+panelsAtOnce, hi); i++ {
				t.job.packB(t.dst[(i*a.panelRows()+first)*width:][:rows*width], nil, a.B, first, rows, i*width, min(width, a.N-i*width))
			}
		}
	}
}

const (
	panelsAtOnce = 16 // as many pages are written to
	rowsAtOnce   = 64 // rows of pairs, or of numbers: twice as many pages, and lines that stay in the second-level cache
)
