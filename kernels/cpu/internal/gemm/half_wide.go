package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// Two whole vectors of 512 bits of pairs are multiplied in a cycle by processors that do not compute them by halves:
// what is done besides counts for more there. B is brought into panels once for all rows, where those of a batch would
// each have their own panels, chunks have more rows, and the sums of a chunk stay in the first-level cache until they
// are rounded.
//
// Rows of an odd number of elements begin within words. Every other one begins with a word, or every other one with the
// half of one, which the processor reads as well, so that the even rows are a matrix whose rows are words apart, and
// the odd ones another: nothing is copied. The last pair of a row has the first element of the next row, which the zero
// behind the last row of B removes unless it is infinite or not a number.

const (
	wideSums   = 7168    // of a chunk: 28 KiB
	wideBlocks = 224     // rows of a chunk whose sums are of several blocks, or which makes its own panels: its A stays in the second-level cache
	widePanels = 1 << 22 // words of panels that are made for all rows
	turnsRows  = 28      // from which on two halves of the rows are whole tiles

	// Of a chunk whose sums are not in memory: columns, and rows if so many words of A stay in the first-level cache.
	roundedCols = 512
	roundedRows = 448
	roundedA    = 7168
	highTile    = 14
)

// setWide decides what [halfPlan.wide] and [halfPlan.turns] say.
func (p *halfPlan) setWide(a *HalfArgs) {
	p.wide = p.pairs && !p.matrices && a.M > 1 && isa.Active().Has(isa.Vectors512) && !isa.HalfUnits()
	p.turns = p.wide && !a.TransA && a.M >= turnsRows && a.LDA%2 != 0 && a.K > 1
}

// wideRows is how many rows a chunk has at most.
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

// roundedRows is how many rows a chunk has at most whose sums are rounded in vectors, and at least so many.
func (p *halfPlan) roundedRows(least int) int {
	return max(least, min(roundedA/p.k/highTile*highTile, roundedRows))
}

// packsWide reports whether B is brought into panels for all rows together.
func (p *halfPlan) packsWide(a *HalfArgs) bool {
	width := micro.PanelWidth[float32]()
	return p.wide && ceil(a.N, width)*width*p.k <= widePanels && a.Batch == [2]int{1, 1}
}

// wideCols is how many columns a chunk of so many rows has at most.
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

// finiteBehind reports whether the elements behind so many rows of A, but for the last row of the matrix, are finite,
// or are not read, as K is even.
func (a *HalfArgs) finiteBehind(rows []uint16, n int) bool {
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

// runInTurns computes a tile whose rows of A lie in a matrix from row m and pair k on, where they are: the even rows,
// and then the odd ones. The last row of a matrix of odd rows, which has nothing behind it, is copied. The sums are
// rounded if there is a place for that.
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

// runSome computes a tile from a row of the results on, of which each of so many is one of the tile.
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
