package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Matrices that many products read are kept in panels for the whole of K: of pairs where products come in pairs, else
// widened. A panel holds the numbers that [halfJob.packB] would make for each block of K, one block after the other, so
// products have the same bits with it.

// HalfPanels returns the layout of the panels of the product's B and how many numbers of 32 bits they are.
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

// wholePairs are those of a step of matrix registers.
const wholePairs = 16

// panelRows is how many rows a panel has. For matrix registers long sums end with whole steps.
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

// pairs reports whether pairs of bfloat16 are multiplied.
func (a *HalfArgs) pairs() bool { return a.Type == vec.BFloat16 && micro.Pairs() }

// narrow reports whether the panels are of 16-bit numbers, which are widened a block at a time.
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

// PackHalf writes the product's B, of which there is one for the whole batch, to dst, which has the size that
// [HalfPanels] says.
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

	// Lines are, for each worker, a block of the rows of a transposed matrix. They are kept for the next one: steps of
	// training pack theirs each time.
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

// alongRows makes the panels of a matrix that is stored by rows. A panel's part of a row is a line or two of the cache,
// and the next row may lie in another page: a panel from top to bottom would look up a page for each line, and take it
// from memory when it is needed. So a block of rows goes into several panels before the next rows do, and
// [vec.PairRows] asks for the lines that the next panel reads.
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
	panelsAtOnce = 16 // so many pages are written to
	rowsAtOnce   = 64 // of pairs, or of numbers: twice as many pages, of lines in the second-level cache
)
