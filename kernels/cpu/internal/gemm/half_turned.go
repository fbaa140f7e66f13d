package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers want the pairs of a row of A side by side. Where A is stored the other way, a block of it is turned
// into parts of turnedPairs pairs of all rows, one part after the other.

const turnedPairs = wholePairs

// nearRows is how many rows two tiles have.
const nearRows = 32

// mostTurned is how many pairs of A are turned for all chunks of columns at most: a quarter of the second-level cache.
const mostTurned = 1 << 17

// sizeOfA is the memory for the rows of a chunk in a block of a sum, copied or turned.
func (p *halfPlan) sizeOfA(a *HalfArgs) int {
	if a.TransA {
		return ceil(p.longest(), turnedPairs) * turnedPairs * p.rows
	}
	return p.rows * p.lda
}

// blocksOfA is how many blocks of a sum a worker has the turned rows of A for at a time.
func (p *halfPlan) blocksOfA() int {
	if p.keepsA {
		return ceil(p.k, p.blockK)
	}
	return 1
}

// turnA is packA of a transposed A for matrix registers.
func (j *halfJob) turnA(dst []float32, src []uint16, m, rows, k, k1 int) {
	a := &j.args
	micro.TurnPairs(dst, src[2*k*a.LDA+m:], rows, min(2*k1, a.K-2*k), a.LDA)
}

// runTile computes a tile of a chunk of so many rows in matrix registers, and rounds its sums if it is told where to.
func (j *halfJob) runTile(t micro.Tile[float32], rows int, to *micro.Rounding) {
	if whole := t.K / turnedPairs; j.args.TransA && whole > 0 { // parts are segments; sums of several are of whole ones
		t.K, t.Segments, t.ASegment, t.BSegment = turnedPairs, whole, turnedPairs*rows, turnedPairs*t.BK
	}
	if to == nil {
		micro.Run(&t)
		return
	}
	micro.RunRounded(&t, to)
}
