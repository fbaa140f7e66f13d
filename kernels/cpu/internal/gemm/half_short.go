package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers compute a short sum in less time than its result takes to the second-level cache and back. So the
// call that completes sums also rounds them, two by two tiles at a time, while they are in the first-level cache. It
// cannot do so if the result is subtracted from a variable or transposed, or if a sum takes two calls because it is not
// whole tiles. Then a chunk of C whose sums are one block is computed and rounded some rows at a time. One call
// computes all panels of B, because configuring the registers takes as long as three products of tiles.

const (
	shortCols = 128  // columns of a chunk of C with short sums: 32 KiB with the rows of a step
	shortStep = 8192 // sums that are completed before they are rounded

	// If sums are never stored and B is packed, a chunk has passedCols columns. A call completes passedSums results, of
	// few rows, so that they are written in long runs, unless the panels exceed passedPanels, and so do not stay in the
	// second-level cache.
	passedCols   = 512
	passedSums   = 1 << 15
	passedPanels = 1 << 16 // words

	// Words of the panels that a chunk makes for itself: they are read again from the first-level cache, and more
	// chunks would be more calls.
	nearPanels = 1 << 13
)

// roundsSums reports whether the call that completes the sums can round them.
func (p *halfPlan) roundsSums(a *HalfArgs) bool {
	switch {
	case !p.pairs || p.swapped || a.Variable != nil || p.k == 0:
		return false
	case p.matrices:
		return micro.Rounds() && byHalfRounding.Taken()
	}
	return p.k <= p.blockK && micro.RoundsVectors() && byHalfRounding.Taken()
}

// roundsVectors reports whether sums of one block are rounded in vectors, and so are never stored.
func (p *halfPlan) roundsVectors() bool { return p.rounds && !p.matrices }

// setPads decides whether zeros fill the last block of a sum up to whole steps. Then A is copied, which pays if many
// columns are multiplied with it and its rows do not begin at cache lines anyway.
func (p *halfPlan) setPads(a *HalfArgs) {
	if p.matrices && p.k > wholePairs && p.k%wholePairs != 0 && (!p.inPlace || a.N >= padsColumns) {
		p.pads, p.inPlace = a.panelRows()-p.k, false
	}
}

const padsColumns = 256

// block returns where the i-th block of a sum begins, and its length, if sums are cut into that many blocks.
func (p *halfPlan) block(i, blocks int) (k, k1 int) {
	at := func(i int) int {
		switch {
		case i == blocks:
			return p.k + p.pads
		case p.matrices:
			return i * p.k / blocks / wholePairs * wholePairs
		}
		return i * p.k / blocks
	}
	return at(i), at(i+1) - at(i)
}

// longest is the length of the longest block of a sum.
func (p *halfPlan) longest() int {
	switch {
	case !p.matrices:
		return min(p.k, p.blockK)
	case p.k <= p.blockK:
		return p.k + p.pads
	}
	return ceil(p.blockK+wholePairs-1, wholePairs) * wholePairs
}

// passes reports whether sums are short and computed in one call, so that they are never all stored.
func (p *halfPlan) passes(a *HalfArgs) bool {
	return p.short && p.rounds && (p.k <= wholePairs || (p.k+p.pads)%wholePairs == 0)
}

const (
	matrixBlockA   = 1 << 17 // words of the rows of A of a chunk: a quarter of the second-level cache
	mostRowsMatrix = 512

	// If sums have several blocks, a chunk's A takes half of that cache, and its rows are copied once for all columns.
	matrixBlocksA  = 2 * matrixBlockA
	mostRowsBlocks = 256
)

// matrixRows returns the most rows of a chunk whose sums have that many pairs. A chunk's A stays in the second-level
// cache, and B passes through it once for each chunk of rows: memory beyond that cache delivers a tenth of its rate.
func (a *HalfArgs) matrixRows(pairs int) int {
	most := matrixBlockA
	switch {
	case a.TransA:
		most = mostTurned
	case pairs > blockK():
		return min(max(matrixBlocksA/pairs/nearRows*nearRows, halfRowsMatrices), mostRowsBlocks)
	}
	return min(max(most/max(pairs, 1)/nearRows*nearRows, halfRowsMatrices), mostRowsMatrix)
}

// mostCols returns the most columns of a chunk.
func (p *halfPlan) mostCols(a *HalfArgs) int {
	switch {
	case p.wide:
		return p.wideCols(ceil(a.M, p.rowChunks))
	case p.roundsVectors():
		return roundedCols
	case p.short && !p.passes(a):
		return shortCols
	case p.short && (a.Packed != nil || p.rowChunks > 1):
		return passedCols
	case p.short:
		return max(halfCols, nearPanels/p.longest()/nearRows*nearRows)
	}
	return halfCols
}

// setSteps decides how the sums of a chunk are laid out and how many of its rows are completed at a time. If rows of
// sums were a power of two apart, they would compete for a few sets of the first-level cache, to which matrix registers
// return with each block of a sum.
func (p *halfPlan) setSteps(a *HalfArgs) {
	p.lineC, p.step = p.cols, p.rows
	if p.matrices {
		p.lineC += halfGap
	}
	switch {
	case p.passes(a) && p.k*p.cols <= passedPanels:
		p.step = min(p.rows, max(passedSums/p.cols/nearRows, 1)*nearRows)
	case p.passes(a):
	case p.short:
		p.step = min(p.rows, max(shortStep/p.cols/nearRows, 1)*nearRows)
	}
}

// packsChunks reports whether each chunk of C packs its own part of B.
func (p *halfPlan) packsChunks(a *HalfArgs) bool { return p.matrices && !p.packs && a.Packed == nil }

// packPanels makes the panels of the columns [n, n+cols) for a block of sums as in packB, one after the other. It
// writes a few rows of B to all panels before the next rows, because a panel's part of a row is one or two cache lines,
// and the next row may lie in another page.
func (j *halfJob) packPanels(panels, lines []float32, src []uint16, k, k1, n, cols int) {
	width, rows, given := micro.PanelWidth[float32](), rowsAtOnce, min(k1, j.plan.k-k)
	if j.args.TransB {
		rows = given
	}
	for c := 0; c < cols && given < k1; c += width {
		clear(panels[c*k1+given*width:][:(k1-given)*width])
	}
	for first := 0; first < given; first += rows {
		part := min(rows, given-first)
		for c := 0; c < cols; c += width {
			j.packB(panels[c*k1+first*width:][:part*width], lines, src, k+first, part, n+c, min(width, cols-c))
		}
	}
}

// halfChunk is a chunk of C that matrix registers compute: it starts at row m and column n of the batch entry at an
// offset, and has a worker's memory.
type halfChunk struct {
	sums, panels, lines, turned []float32
	matrixB                     []uint16
	at, m, n, cols              int
}

// matrixSums computes a block of the sums of a chunk, from k on. t has the rows, and A with its strides. The last block
// completes the sums, and the result is stored.
func (j *halfJob) matrixSums(t micro.Tile[float32], c *halfChunk, k int, last bool) {
	a, p, width := &j.args, &j.plan, micro.PanelWidth[float32]()
	panels, stepB := c.panels, width*t.K
	if p.packsChunks(a) {
		j.packPanels(panels, c.lines, c.matrixB, k, t.K, c.n, c.cols)
	} else {
		panels, stepB = a.Packed[c.n*a.panelRows()+k*width:], width*a.panelRows()
	}
	all, rows, stepA := t.A, t.Rows, t.ARow
	if a.TransA {
		stepA = turnedPairs
	}
	var bias []float32
	if p.rounds && last && a.Bias != nil {
		bias = c.lines[:c.cols]
		a.Type.Widen(bias, a.Bias[c.n:][:c.cols])
	}
	t.BLine, t.CLine = stepB, width
	whole, rest := c.cols/width, c.cols%width
	for first := 0; first < rows; first += p.step {
		t.A, t.Rows = all[first*stepA:], min(p.step, rows-first)
		if whole > 0 {
			t.B, t.C, t.Cols, t.Lines = panels, c.sums, width, whole
			j.completeTile(&t, c, bias, first, 0, rows, last)
		}
		if rest > 0 {
			t.B, t.C, t.Cols, t.Lines = panels[whole*stepB:], c.sums[whole*width:], rest, 1
			j.completeTile(&t, c, bias, first, whole*width, rows, last)
		}
		if last && !p.rounds {
			j.store(c.sums, c.lines, c.turned, c.at, c.m+first, c.n, t.Rows, c.cols)
		}
	}
}

// completeTile computes a tile of rows rows, at a row and a column of the chunk.
func (j *halfJob) completeTile(t *micro.Tile[float32], c *halfChunk, bias []float32, row, col, rows int, last bool) {
	a := &j.args
	if !last || !j.plan.rounds {
		j.runTile(*t, rows, nil)
		return
	}
	to := micro.Rounding{C: a.C[c.at+(c.m+row)*a.LDC+c.n+col:], Row: a.LDC, Line: t.CLine, ReLU: a.ReLU}
	if bias != nil {
		to.Bias, to.BiasLine = bias[col:], t.CLine
	}
	j.runTile(*t, rows, &to)
}
