package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers need the pairs of a row of A side by side. If A is stored the other way, a block of it is transposed
// into parts, one after the other; each holds turnedPairs pairs of all rows.

const turnedPairs = wholePairs

// nearRows is the number of rows of two tiles.
const nearRows = 32

// mostTurned is the most pairs of A that are transposed once for all chunks of columns: a quarter of the second-level
// cache.
const mostTurned = 1 << 17

// sizeOfA is the memory for a chunk's rows of A in one block of a sum, copied or transposed.
func (p *halfPlan) sizeOfA(a *HalfArgs) int {
	if a.TransA {
		return ceil(p.longest(), turnedPairs) * turnedPairs * p.rows
	}
	return p.rows * p.lda
}

// blocksOfA is the number of blocks of a sum for which a worker keeps the transposed rows of A at a time.
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

// runTile computes a tile of a chunk of rows rows in matrix registers. If to is not nil, it rounds the sums there.
func (j *halfJob) runTile(t micro.Tile[float32], rows int, to *micro.Rounding) {
	if whole := t.K / turnedPairs; j.args.TransA && whole > 0 { // parts are segments, so a sum over several parts consists of whole ones
		t.K, t.Segments, t.ASegment, t.BSegment = turnedPairs, whole, turnedPairs*rows, turnedPairs*t.BK
	}
	if to == nil {
		micro.Run(&t)
		return
	}
	micro.RunRounded(&t, to)
}
