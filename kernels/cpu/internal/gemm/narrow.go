package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A product with few columns, C[M, N] = A[K, M]ᵀ·B[K, N], is the gradient of weights with few outputs: A is the large
// input of a layer. Tiles would read columns of it, each line from another page, for panels of B that are mostly
// padding. It is computed as Cᵀ = Bᵀ·A: A is the operand of vectors, read in place or copied into panels block by
// block, blocks of B are transposed, and blocks of Cᵀ are transposed into C. The sums are the same, number by number.

const (
	narrowMinCols = 24  // fewer columns are always computed so:
	narrowMaxCols = 128 // from here on transposing blocks of A costs less
	narrowChunk   = 512

	narrowPackCols  = 16      // columns, the rows of the tiles, from which on a copy of A pays where
	narrowPackBytes = 1 << 21 // A is larger, and a sum has several blocks; or where its rows compete for places in the cache
	narrowPackSums  = 128     // and are more than these
	narrowPackRows  = 16      // of A that are copied at a time: the processor fetches rows ahead that it sees being read
)

func (a *Args[T]) isNarrow() bool {
	if !a.TransA || a.TransB || a.Packed || a.Accumulate || a.Bias != nil || a.Batch != [2]int{1, 1} || a.N > narrowMaxCols || !a.isLargeA() {
		return false
	}
	width := micro.PanelWidth[T]()
	wasted := a.N%width > 0 && a.N%width <= width/2 // by panels of B, but not by rows of tiles
	return a.N < narrowMinCols || wasted || !a.isDeep()
}

// isDeep reports whether A comes through memory, a block of a sum after the other.
func (a *Args[T]) isDeep() bool { return a.K > BlockK && a.M*a.K*int(sizeOf[T]()) > narrowPackBytes }

// packsNarrow reports whether blocks of A are copied into panels.
func (a *Args[T]) packsNarrow() bool {
	return a.N >= narrowPackCols && a.isDeep() || a.N >= narrowMinCols && conflicts(a) && a.K > narrowPackSums
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

// narrowSize is the scratch of one worker: a transposed block of B, a chunk of Cᵀ and panels of A.
func (p *plan[T]) narrowSize(a *Args[T]) int {
	size := a.N * (min(a.K, BlockK) + rowGap + p.rows + rowGap)
	if a.packsNarrow() {
		size += min(a.K, BlockK) * p.rows
	}
	return size
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
	memory := j.scratch[worker*size : (worker+1)*size]
	cut := func(n int) []T {
		piece := memory[:n]
		memory = memory[n:]
		return piece
	}
	turned, sums := cut(a.N*(min(a.K, BlockK)+rowGap)), cut(a.N*(rows+rowGap))
	for i := lo; i < hi; i++ {
		m := i * rows
		n := min(rows, a.M-m)
		j.narrowChunk(turned, sums, memory, m, n)
		micro.Transpose(a.C[m*a.LDC:], sums, a.N, n, a.LDC, rows+rowGap)
	}
}

// narrowChunk computes the columns [m, m+n) of Cᵀ; turned is room for a block of Bᵀ, panels for one of A, if it is
// copied.
func (j *job[T]) narrowChunk(turned, sums, panels []T, m, n int) {
	a, width := &j.args, micro.PanelWidth[T]()
	stride := min(a.K, BlockK) + rowGap
	t := micro.Tile[T]{Rows: a.N, Segments: 1, Outer: 1, A: turned, ARow: stride, AK: 1, CRow: j.plan.rows + rowGap}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k := i * a.K / blocks
		t.K = (i+1)*a.K/blocks - k
		micro.Transpose(turned, a.B[k*a.LDB:], t.K, a.N, stride, a.LDB)
		if len(panels) > 0 {
			packNarrow(panels, a, k, t.K, m, n/width*width)
		}
		t.Accumulate, t.ReLU = i > 0, a.ReLU && i == blocks-1
		for c := 0; c < n; c += width {
			t.Cols, t.C, t.Next = min(width, n-c), sums[c:], nil
			switch {
			case t.Cols < width:
				t.B, t.BK = j.plan.shared[k*width:], width
			case len(panels) > 0:
				t.B, t.BK = panels[c*t.K:], width
			default:
				t.B, t.BK = a.A[k*a.LDA+m+c:], a.LDA
				if c+width < n {
					t.Next = a.A[k*a.LDA+m+c+width:]
				}
			}
			micro.Run(&t)
		}
	}
}

// packNarrow copies rows of A from k on, n numbers of each from m on, into panels.
func packNarrow[T Float](panels []T, a *Args[T], k, rows, m, n int) {
	width := micro.PanelWidth[T]()
	for r := 0; r < rows; r += narrowPackRows {
		for c := 0; c < n; c += width {
			micro.PackPanel(panels[c*rows+r*width:], a.A[(k+r)*a.LDA+m+c:], min(narrowPackRows, rows-r), width, a.LDA, 1)
		}
	}
}
