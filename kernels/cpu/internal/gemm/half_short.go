package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers add up a short sum, one block, in less time than its result takes to the second-level cache and
// back. So with short sums a chunk of C is computed some of its rows at a time, whose float32 stay in the first-level
// cache until they are rounded, with one call for all panels of B.

const (
	shortCols = 128  // of a chunk of C: 32 KiB with the rows of a step
	shortStep = 8192 // sums that are completed before they are rounded
)

// setSteps sets how the sums of a chunk lie, and how many of its rows are completed at once. Rows of sums that are a
// power of two apart would compete for a few places in the first-level cache, to which matrix registers return with
// each block of a sum.
func (p *halfPlan) setSteps() {
	p.lineC, p.step = p.cols, p.rows
	if p.matrices {
		p.lineC += halfGap
	}
	if p.short {
		p.step = min(p.rows, max(shortStep/p.cols/nearRows, 1)*nearRows)
	}
}

// packsChunks reports whether each chunk of C brings its part of B into panels.
func (p *halfPlan) packsChunks(a *HalfArgs) bool { return p.matrices && !p.packs && a.Packed == nil }

// packPanels makes the panels of the columns [n, n+cols) for a block of sums as in packB, one after the other: a few
// rows of B in all panels before the next rows, since a panel's part of a row is a line or two of the cache, and the
// next row's may lie in another page.
func (j *halfJob) packPanels(panels, lines []float32, src []uint16, k, k1, n, cols int) {
	width, rows := micro.PanelWidth[float32](), rowsAtOnce
	if j.args.TransB {
		rows = k1
	}
	for first := 0; first < k1; first += rows {
		part := min(rows, k1-first)
		for c := 0; c < cols; c += width {
			j.packB(panels[c*k1+first*width:][:part*width], lines, src, k+first, part, n+c, min(width, cols-c))
		}
	}
}

// shortSums computes the chunk of C of the rows of t, of which A and its strides are set, from row m and column n on.
func (j *halfJob) shortSums(t *micro.Tile[float32], sums, panels, lines, turned []float32, matrixB []uint16, at, m, n, cols int) {
	a, p, width := &j.args, &j.plan, micro.PanelWidth[float32]()
	if p.packsChunks(a) {
		j.packPanels(panels, lines, matrixB, 0, p.k, n, cols)
	} else {
		panels = a.Packed[n*p.k:]
	}
	all, rows, stepA := t.A, t.Rows, t.ARow
	if a.TransA {
		stepA = turnedPairs
	}
	t.BLine, t.CLine = width*p.k, width
	whole, rest := cols/width, cols%width
	for first := 0; first < rows; first += p.step {
		t.A, t.Rows = all[first*stepA:], min(p.step, rows-first)
		if whole > 0 {
			t.B, t.C, t.Cols, t.Lines = panels, sums, width, whole
			j.shortTile(t, rows)
		}
		if rest > 0 {
			t.B, t.C, t.Cols, t.Lines = panels[whole*t.BLine:], sums[whole*width:], rest, 1
			j.shortTile(t, rows)
		}
		j.store(sums, lines, turned, at, m+first, n, t.Rows, cols)
	}
}

// shortTile computes some rows of a chunk that has so many.
func (j *halfJob) shortTile(t *micro.Tile[float32], rows int) {
	if j.args.TransA {
		runTurned(*t, rows)
		return
	}
	micro.Run(t)
}
