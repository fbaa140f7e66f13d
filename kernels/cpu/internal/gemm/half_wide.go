package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// Processors that do not split 512-bit vectors into halves multiply two whole vectors of pairs in a cycle, so
// everything else counts for more. There, B is packed once for all rows, except in batches, where each entry would need
// panels of its own. Chunks have more rows, and their sums stay in the first-level cache until they are rounded.
//
// Rows with an odd number of elements begin within 32-bit words. If the even rows begin with a word, the odd rows begin
// in the middle of one, or the other way round. The processor can read both, so the even rows form one matrix with a
// stride of whole words, and the odd rows another: nothing is copied. The last pair of a row includes the first element
// of the next row. It is multiplied by the zero behind the last row of B, which removes it unless it is infinite or
// NaN.

const (
	wideSums   = 7168    // sums of a chunk: 28 KiB
	wideBlocks = 224     // rows of a chunk whose sums have several blocks, or which makes its own panels: its A stays in the second-level cache
	widePanels = 1 << 22 // words of panels that are made once for all rows
	turnsRows  = 28      // rows from which on each half of them, even or odd, is whole tiles

	// Columns of a chunk whose sums are not stored; and its rows if no more than roundedA words of A stay in the cache.
	roundedCols = 512
	roundedRows = 448
	roundedA    = 7168
	highTile    = 14
)

// setWide sets [halfPlan.wide] and [halfPlan.turns].
func (p *halfPlan) setWide(a *HalfArgs) {
	p.wide = p.pairs && !p.matrices && a.M > 1 && isa.Active().Has(isa.Vectors512) && !isa.HalfUnits()
	p.turns = p.wide && !a.TransA && a.M >= turnsRows && a.LDA%2 != 0 && a.K > 1
}

// wideRows returns the most rows of a chunk.
func (p *halfPlan) wideRows(a *HalfArgs) int {
	most := halfRows
	if p.k > p.blockK || a.M <= wideBlocks || !p.packsWide(a) {
		most = wideBlocks
	}
	if p.rounds {
		most = p.roundedRows(most)
	}
	return most
}

// roundedRows returns the most rows of a chunk whose sums are rounded in vectors, at least the given number.
func (p *halfPlan) roundedRows(least int) int {
	return max(least, min(roundedA/p.k/highTile*highTile, roundedRows))
}

// packsWide reports whether B is packed once for all rows.
func (p *halfPlan) packsWide(a *HalfArgs) bool {
	width := micro.PanelWidth[float32]()
	return p.wide && ceil(a.N, width)*width*p.k <= widePanels && a.Batch == [2]int{1, 1} && byHalfWide.Taken()
}

// wideCols returns the most columns of a chunk of the given number of rows.
func (p *halfPlan) wideCols(rows int) int {
	width := micro.PanelWidth[float32]()
	if p.rounds {
		return roundedCols
	}
	if p.k > p.blockK {
		return halfCols
	}
	return min(max(wideSums/rows/width, 1)*width, halfCols)
}

// finiteAfter reports whether the elements behind the first n rows are finite, except for the last row of the matrix.
// If K is even, they are not read and do not matter.
func (a *HalfArgs) finiteAfter(rows []uint16, n int) bool {
	if a.K%2 == 0 {
		return true
	}
	const infinite = 0x7f80
	for at := a.K; n > 0 && at < len(rows); at += a.LDA {
		if rows[at]&infinite == infinite {
			return false
		}
		n--
	}
	return true
}

// roundTile computes the sums of a tile at a column of the chunk and stores them, rounded.
func (j *halfJob) roundTile(t micro.Tile[float32], c *halfChunk, bias []float32, col int, blockA []float32, matrixA []uint16, inTurns bool) {
	a := &j.args
	to := micro.Rounding{C: a.C[c.at+c.m*a.LDC+c.n+col:], Row: a.LDC, ReLU: a.ReLU}
	if bias != nil {
		to.Bias = bias[col:]
	}
	if inTurns {
		j.runInTurns(t, &to, blockA, matrixA, c.m, 0)
		return
	}
	micro.RunRounded(&t, &to)
}

// runInTurns computes a tile that reads A in place, from row m and pair k of the matrix on: first its even rows, then
// its odd ones. The last row of a matrix with an odd number of elements has nothing behind it, and is copied. If to is
// not nil, the sums are rounded there.
func (j *halfJob) runInTurns(t micro.Tile[float32], to *micro.Rounding, block []float32, matrix []uint16, m, k int) {
	a := &j.args
	rows := t.Rows
	if last := m + rows - 1; last*a.LDA+2*(k+t.K) > len(matrix) {
		rows--
		one := t
		one.Rows, one.A, one.ARow, one.AK, one.Next = 1, block, t.K, 1, nil
		j.packA(block, matrix, last, 1, k, t.K)
		runSome(one, to, rows, 1)
	}
	t.ARow, t.AK = a.LDA, 1
	for odd := range min(2, rows) {
		t.Rows, t.A = (rows+1-odd)/2, words(matrix[(m+odd)*a.LDA+2*k:])
		runSome(t, to, odd, 2)
		t.Next = nil
	}
}

// runSome computes a tile of every each-th row of the results, from a row on.
func runSome(t micro.Tile[float32], to *micro.Rounding, row, each int) {
	if to == nil {
		t.C = t.C[row*t.CRow:]
		t.CRow *= each
		micro.Run(&t)
		return
	}
	u := *to
	u.C, u.Row = to.C[row*to.Row:], each*to.Row
	micro.RunRounded(&t, &u)
}
