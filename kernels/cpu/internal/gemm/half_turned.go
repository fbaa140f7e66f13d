package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers want the pairs of a row of A side by side. Where A is stored the other way, a block of it is turned
// into parts of turnedPairs pairs of all rows, one part after the other.

const turnedPairs = 32

// nearRows is how many rows two tiles have.
const nearRows = 32

// multiply computes a tile of a block of sums, in one call: configuring the registers takes as long as eight products
// of tiles, longer than a panel takes from the second-level cache. However many rows there are, the sums have one
// order.
func (j *halfJob) multiply(t *micro.Tile[float32]) {
	if j.plan.matrices && j.args.TransA {
		runTurned(*t, t.Rows)
		return
	}
	micro.Run(t)
}

// mostTurned is how many pairs of A are turned for all chunks of columns at most: a quarter of the second-level cache.
const mostTurned = 1 << 17

// turnedBlock is the memory for the rows of a chunk in a block of a sum, turned.
func (p *halfPlan) turnedBlock() int {
	k := ceil(p.k, max(ceil(p.k, p.blockK), 1))
	return ceil(k, turnedPairs) * turnedPairs * p.rows
}

// blocksOfA is how many blocks of a sum a worker has the turned rows of A for at a time.
func (p *halfPlan) blocksOfA() int {
	if p.keepsA {
		return ceil(p.k, p.blockK)
	}
	return 1
}

// turnA is packA of a transposed A for matrix registers. Lines is memory for a part.
func (j *halfJob) turnA(dst, lines []float32, src []uint16, m, rows, k, k1 int) {
	a := &j.args
	for first := 0; first < k1; first += turnedPairs {
		pairs := min(turnedPairs, k1-first)
		at := 2 * (k + first)
		PackPairs(pairsOf(lines), src[at*a.LDA+m:], rows, pairs, a.K-at, rows, a.LDA)
		micro.Transpose(dst[first*rows:], lines, pairs, rows, turnedPairs, rows)
	}
}

// runTurned computes a tile of which A has been turned, with others to so many rows: its parts are segments, the last
// of which may be shorter.
func runTurned(t micro.Tile[float32], rows int) {
	whole, rest := t.K/turnedPairs, t.K%turnedPairs
	part := turnedPairs * rows
	if whole > 0 {
		t.K, t.Segments, t.ASegment, t.BSegment = turnedPairs, whole, part, turnedPairs*t.BK
		micro.Run(&t)
		t.Accumulate = true
	}
	if rest > 0 {
		t.A, t.B = t.A[whole*part:], t.B[whole*turnedPairs*t.BK:]
		t.K, t.Segments = rest, 1
		micro.Run(&t)
	}
}
