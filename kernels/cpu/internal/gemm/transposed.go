package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A product of few rows with a transposed matrix, C[M, N] = A[M, K]·B[N, K]ᵀ, is the gradient of a layer's input. A is
// small, and B, the weights, would have to be transposed into panels at every step. So the product is computed as Cᵀ =
// B·Aᵀ: A is packed instead, B is read in place as the scalar operand, and blocks of Cᵀ are transposed into C while
// they are in the first-level cache. Each sum adds the same products in the same order.

const (
	transposedRows    = 56 // rows of Cᵀ in a block
	transposedMinRows = 14
	transposedLanes   = 16 // rows of A (columns of Cᵀ) should fill vectors if B is small
)

// isTransposed reports whether computing the transpose costs less than packing B. Transposing a number of A or C within
// the cache costs a little less than packing one of B, which goes through memory.
func (a *Args[T]) isTransposed() bool {
	if a.packsFew() || !a.TransB || a.Packed || a.Accumulate || a.Bias != nil || a.Batch != [2]int{1, 1} || a.N < transposedMinRows {
		return false
	}
	padded := ceil(a.M, transposedLanes) * transposedLanes
	fills := 8*padded <= 9*a.M || a.K*a.N*int(sizeOf[T]()) >= turnMinBytes
	return fills && a.M*(a.K+a.N) <= 5*a.K*a.N/4 && byTransposed.Taken()
}

// transposedTask computes blocks of Cᵀ.
type transposedTask[T Float] struct{ job *job[T] }

// transposedBlock is the number of rows of Cᵀ in a block.
func (a *Args[T]) transposedBlock(workers int) int {
	blocks := ceil(a.N, transposedRows)
	if workers > 1 {
		blocks = max(blocks, min(wantChunks*workers, a.N/transposedMinRows))
		blocks = ceil(blocks, workers) * workers
	}
	return ceil(a.N, blocks)
}

// runTransposed packs A and then computes the blocks.
func (j *job[T]) runTransposed(p *pool.Pool) {
	a := &j.args
	packed := PackedSize[T](a.M, a.K)
	j.plan.shared, j.scratch = j.scratch[:packed], j.scratch[packed:]
	PackB(p, j.plan.shared, a.A, a.K, a.M, a.LDA, !a.TransA)
	p.Parallel(ceil(a.N, j.plan.rows), 1, &j.transposed)
}

// Run computes the blocks [lo, hi).
func (t *transposedTask[T]) Run(worker, lo, hi int) {
	j := t.job
	size := j.plan.rows * j.args.M
	block := j.scratch[worker*size : (worker+1)*size]
	for i := lo; i < hi; i++ {
		n := i * j.plan.rows
		rows := min(j.plan.rows, j.args.N-n)
		j.transposedRows(block, n, rows)
		micro.Transpose(j.args.C[n:], block, rows, j.args.M, j.args.LDC, j.args.M)
	}
}

// transposedRows computes the rows [n, n+rows) of Cᵀ, which are contiguous.
func (j *job[T]) transposedRows(block []T, n, rows int) {
	a := &j.args
	width := micro.PanelWidth[T]()
	t := micro.Tile[T]{Rows: rows, Segments: 1, Outer: 1, ARow: a.LDB, AK: 1, BK: width, CRow: a.M, FarA: isFar[T](a.N, a.K)}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k := i * a.K / blocks
		t.K = (i+1)*a.K/blocks - k
		t.A = a.B[n*a.LDB+k:]
		t.Accumulate, t.ReLU = i > 0, a.ReLU && i == blocks-1
		for m := 0; m < a.M; m += width {
			t.Cols = min(width, a.M-m)
			t.B, t.C = j.plan.shared[m*a.K+k*width:], block[m:]
			micro.Run(&t)
		}
	}
}
