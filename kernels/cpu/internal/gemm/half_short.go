package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers add up a short sum in less time than its result takes to the second-level cache and back. So the
// call that completes sums rounds them, two tiles by two at a time, while they are in the first-level cache. Where it
// cannot, because the result is subtracted from a variable or transposed, and where a sum takes two calls, since it is
// not of whole tiles, a chunk of C with short sums, of one block, is computed some of its rows at a time. One call
// computes all panels of B: configuring the registers takes as long as three products of tiles.

const (
	shortCols = 128  // of a chunk of C with short sums: 32 KiB with the rows of a step
	shortStep = 8192 // sums that are completed before they are rounded

	// Sums that do not stay in memory: with B in panels, a chunk has so many columns. So many results are completed by
	// a call, of few rows, so that they are written in long runs, unless the panels do not stay in the second-level
	// cache.
	passedCols   = 512
	passedSums   = 1 << 15
	passedPanels = 1 << 16 // words

	// Panels that are made for one chunk: so many words are read again from the first-level cache, and each chunk more
	// is another call.
	nearPanels = 1 << 13
)

// roundsSums reports whether the call that completes sums can round them.
func (p *halfPlan) roundsSums(a *HalfArgs) bool {
	switch {
	case !p.pairs || p.swapped || a.Variable != nil || p.k == 0:
		return false
	case p.matrices:
		return micro.Rounds()
	}
	return p.k <= p.blockK && micro.RoundsVectors()
}

// roundsVectors reports whether the sums, each of one block, are rounded in vectors, so that they are never in memory.
func (p *halfPlan) roundsVectors() bool { return p.rounds && !p.matrices }

// setPads decides whether the last block of a sum ends with zeros, so that it is of whole steps. Then A is copied,
// which pays where many columns are multiplied with it, and where its rows do not begin with lines of the cache anyway.
func (p *halfPlan) setPads(a *HalfArgs) {
	if p.matrices && p.k > wholePairs && p.k%wholePairs != 0 && (!p.inPlace || a.N >= padsColumns) {
		p.pads, p.inPlace = a.panelRows()-p.k, false
	}
}

const padsColumns = 256

// block returns where a block of a sum begins and how long it is, of so many.
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

// passes reports whether the sums are short and formed in one call, so that they are never all in memory.
func (p *halfPlan) passes(a *HalfArgs) bool {
	return p.short && p.rounds && (p.k <= wholePairs || (p.k+p.pads)%wholePairs == 0)
}

const (
	matrixBlockA   = 1 << 17 // words of the rows of A of a chunk: a quarter of the second-level cache
	mostRowsMatrix = 512

	// Of sums of several blocks, a chunk's A takes half of that cache, and its rows are copied once for all columns.
	matrixBlocksA  = 2 * matrixBlockA
	mostRowsBlocks = 256
)

// matrixRows is how many rows a chunk has at most whose sums have so many pairs. A chunk's A stays in the second-level
// cache, and B comes through it once for each chunk of rows: what is behind that cache gives a tenth of its rate.
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

// mostCols is how many columns a chunk has at most.
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

// setSteps sets how the sums of a chunk lie, and how many of its rows are completed at once. Rows of sums that are a
// power of two apart would compete for a few places in the first-level cache, to which matrix registers return with
// each block of a sum.
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

// packsChunks reports whether each chunk of C brings its part of B into panels.
func (p *halfPlan) packsChunks(a *HalfArgs) bool { return p.matrices && !p.packs && a.Packed == nil }

// packPanels makes the panels of the columns [n, n+cols) for a block of sums as in packB, one after the other: a few
// rows of B in all panels before the next rows, since a panel's part of a row is a line or two of the cache, and the
// next row's may lie in another page.
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

// halfChunk is a chunk of C while matrix registers compute it: from row m and column n on, of the batch entry at an
// offset, with a worker's memory.
type halfChunk struct {
	sums, panels, lines, turned []float32
	matrixB                     []uint16
	at, m, n, cols              int
}

// matrixSums computes a block of the sums of a chunk, from k on, with the rows of t, of which A and its strides are
// set. The last block completes them, and the result is stored.
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

// completeTile computes a tile from a row and a column of the chunk on, which has so many rows.
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
