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
	n := a.normal()
	p, width := newHalfPlan(&n, 1), micro.PanelWidth[float32]()
	layout := micro.Layout[float32]()
	switch {
	case n.narrow():
		return tile.Bits16x32, ceil(n.N, width) * width / 2 * p.k
	case p.pairs:
		layout = micro.PairsLayout()
	}
	return layout, ceil(n.N, width) * width * p.k
}

// narrow reports whether the panels are of 16-bit numbers, which are widened a block at a time.
func (a *HalfArgs) narrow() bool { return a.Narrow && !(a.Type == vec.BFloat16 && micro.Pairs()) }

// narrowPanel returns k1 rows from k on of the panel at column n.
func (a *HalfArgs) narrowPanel(n, k, k1 int) []uint16 {
	return halvesOf(a.Packed)[n*a.K+k*micro.PanelWidth[float32]():][:k1*micro.PanelWidth[float32]()]
}

// narrowRows is how many rows of a panel are widened for a row of A: they stay in the first-level cache, and sums of
// eight products begin where they do without panels.
const narrowRows = 128

// addRowNarrow sets dst, of which so many columns are in use, to what [micro.AddRowPanels] adds, with panels of 16-bit
// numbers from column n on. Wide is memory for a panel.
func (j *halfJob) addRowNarrow(dst, x, wide []float32, n, columns int) {
	a, width := &j.args, micro.PanelWidth[float32]()
	dst = dst[:ceil(columns, width)*width]
	clear(dst)
	if micro.AddRowHalfPanels(dst, x, a.narrowPanel(n, 0, len(dst)/width*a.K), a.Type) {
		return
	}
	for c := 0; c < columns; c += width {
		for k := 0; k < len(x); k += narrowRows {
			rows := min(narrowRows, len(x)-k)
			a.Type.Widen(wide[:rows*width], a.narrowPanel(n+c, k, rows))
			micro.AddRowProduct(dst[c:min(c+width, columns)], x[k:k+rows], wide, width)
		}
	}
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
	j.plan = newHalfPlan(&j.args, 1)
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
			t.job.packB(t.dst[(i*k+first)*width:][:rows*width], lines, a.B, first, rows, i*width, min(width, a.N-i*width))
		}
	}
}
