package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A product with few columns, C[M, N] = A[K, M]ᵀ·B[K, N], is the gradient of weights with few outputs: A is the large
// input of a layer. Tiles would read columns of it, each line from another page, for panels of B that are mostly
// padding. It is computed as Cᵀ = Bᵀ·A: A is read in place as the operand of vectors, blocks of B are transposed, and
// blocks of Cᵀ are transposed into C. The sums are the same, number by number.

const (
	narrowMaxCols = 24 // from here on transposing blocks of A costs less
	narrowChunk   = 512
)

func (a *Args[T]) isNarrow() bool {
	return a.TransA && !a.TransB && !a.Packed && !a.Accumulate && a.Bias == nil && a.Batch == [2]int{1, 1} && a.N < narrowMaxCols && a.isLargeA()
}

// narrowTask computes chunks of columns of Cᵀ.
type narrowTask[T Float] struct{ job *job[T] }

// narrowRows is the number of rows of C, columns of Cᵀ, in a chunk; each worker gets the same number of chunks.
func (a *Args[T]) narrowRows(workers int) int {
	width := micro.PanelWidth[T]()
	chunks := ceil(a.M, narrowChunk)
	if workers > 1 {
		chunks = ceil(chunks, workers) * workers
	}
	return ceil(ceil(a.M, chunks), width) * width
}

// narrowSize is the scratch of one worker: a transposed block of B, and a chunk of Cᵀ.
func (p *plan[T]) narrowSize(a *Args[T]) int {
	return a.N * (min(a.K, BlockK) + rowGap + p.rows + rowGap)
}

func (j *job[T]) runNarrow(p *pool.Pool) {
	a, width := &j.args, micro.PanelWidth[T]()
	if rest := a.M % width; rest != 0 {
		j.plan.shared, j.scratch = j.scratch[:width*a.K], j.scratch[width*a.K:]
		micro.PackPanel(j.plan.shared, a.A[a.M-rest:], a.K, rest, a.LDA, 1)
	}
	p.Parallel(ceil(a.M, j.plan.rows), 1, &j.narrow)
}

// Run computes the chunks [lo, hi).
func (t *narrowTask[T]) Run(worker, lo, hi int) {
	j := t.job
	a, size, rows := &j.args, j.plan.narrowSize(&j.args), j.plan.rows
	turned := j.scratch[worker*size : (worker+1)*size]
	turned, sums := turned[:a.N*(min(a.K, BlockK)+rowGap)], turned[a.N*(min(a.K, BlockK)+rowGap):]
	for i := lo; i < hi; i++ {
		m := i * rows
		n := min(rows, a.M-m)
		j.narrowChunk(turned, sums, m, n)
		micro.Transpose(a.C[m*a.LDC:], sums, a.N, n, a.LDC, rows+rowGap)
	}
}

// narrowChunk computes the columns [m, m+n) of Cᵀ; turned is room for a block of Bᵀ.
func (j *job[T]) narrowChunk(turned, sums []T, m, n int) {
	a, width := &j.args, micro.PanelWidth[T]()
	stride := min(a.K, BlockK) + rowGap
	t := micro.Tile[T]{Rows: a.N, Segments: 1, Outer: 1, A: turned, ARow: stride, AK: 1, CRow: j.plan.rows + rowGap}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k := i * a.K / blocks
		t.K = (i+1)*a.K/blocks - k
		micro.Transpose(turned, a.B[k*a.LDB:], t.K, a.N, stride, a.LDB)
		t.Accumulate, t.ReLU = i > 0, a.ReLU && i == blocks-1
		for c := 0; c < n; c += width {
			t.Cols, t.C, t.Next = min(width, n-c), sums[c:], nil
			if t.Cols < width {
				t.B, t.BK = j.plan.shared[k*width:], width
			} else {
				t.B, t.BK = a.A[k*a.LDA+m+c:], a.LDA
				if c+width < n {
					t.Next = a.A[k*a.LDA+m+c+width:]
				}
			}
			micro.Run(&t)
		}
	}
}
