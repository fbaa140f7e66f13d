package gemm

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A sum over many rows, C[M, N] = A[K, M]ᵀ·B[K, N] with K much larger than M and N, is the gradient of a weight over
// all examples and steps. A and B exceed the caches, and C is small. So the outermost loop goes over blocks of K: each
// block is added to C, and while one block is computed, the next one is prefetched.

const (
	tallMinSums = 2048    // smallest K for which that pays
	tallRows    = 256     // rows of C in a chunk: a block of A then fits the second-level cache
	tallCols    = 512     // columns of a chunk, for one worker,
	tallMinCols = 64      // and for several; if there are many workers, a chunk is a single panel
	tallMinRows = 28      // and at least that many rows: two tiles
	tallBytes   = 1 << 19 // bytes of C that one worker adds to
)

// IsTall reports whether [Tall] computes the product and is better than [Run].
func IsTall[T Float](a *Args[T]) bool {
	return a.K >= tallMinSums && a.TransA && !a.TransB && !a.Packed && max(a.Batch[0], 1)*max(a.Batch[1], 1) == 1 && a.Bias == nil && !a.ReLU &&
		a.M > 1 && a.M <= 2*tallRows && a.N >= micro.PanelWidth[T]() && a.N%micro.PanelWidth[T]() == 0 && byTall.Taken()
}

// Tall computes products for which [IsTall] holds. It keeps what a run needs, so that runs allocate nothing. Only one
// goroutine at a time may use it.
type Tall[T Float] struct {
	// Sums is nil or has N numbers: a run sets them to the sums of the columns of B, which it reads anyway.
	Sums []T

	args                  Args[T]
	rows, cols, rowChunks int
	panels                []T // of B, one for each worker
	turned                []T // Cᵀ, if that is computed
	c                     []T // the caller's C then, with row stride ldc
	ldc                   int
	sums                  []T
}

// turns reports whether Cᵀ = Bᵀ·A is computed and transposed into C. Then the operand with fewer columns is the scalar
// one, which is read number by number, from as few lines as possible. The sums are the same.
func (l *Tall[T]) turns() bool {
	a := &l.args
	return !a.Accumulate && a.M > a.N && a.M%micro.PanelWidth[T]() == 0
}

// turn makes Cᵀ the matrix to compute.
func (l *Tall[T]) turn() {
	a := &l.args
	if need := a.N * (a.M + rowGap); len(l.turned) < need {
		l.turned = make([]T, need)
	}
	l.c, l.ldc = a.C, a.LDC
	a.M, a.N, a.A, a.B, a.LDA, a.LDB = a.N, a.M, a.B, a.A, a.LDB, a.LDA
	a.C, a.LDC = l.turned, a.N+rowGap
}

// Run computes the product; the bits are those of [Run].
func (l *Tall[T]) Run(p *pool.Pool, a *Args[T]) {
	if !IsTall(a) {
		panic(fmt.Sprintf("gemm: not a tall product: M %d, N %d, K %d", a.M, a.N, a.K))
	}
	l.args = a.normal()
	l.args.check()
	if l.Sums != nil && len(l.Sums) < a.N {
		panic(fmt.Sprintf("gemm: room for %d sums, expected N = %d", len(l.Sums), a.N))
	}
	l.sums = l.Sums
	if l.turns() {
		l.turn()
	}
	l.chunk(p.Workers())
	if size := p.Size() * tallPanel[T](); len(l.panels) < size {
		l.panels = make([]T, size)
	}
	p.Parallel(l.rowChunks*ceil(l.args.N, l.cols), 1, l.task())
	l.args, l.sums, l.c = Args[T]{}, nil, nil
}

// chunk cuts C so that each worker gets at least two chunks, or as many as there are.
func (l *Tall[T]) chunk(workers int) {
	a := &l.args
	width := micro.PanelWidth[T]()
	l.rowChunks = ceil(a.M, tallRows)
	l.rows = ceil(a.M, l.rowChunks)
	l.cols = min(ceil(a.N, width)*width, tallCols)
	for l.cols > tallMinCols && (workers > 1 && l.rowChunks*ceil(a.N, l.cols) < 2*workers || l.rows*l.cols*int(sizeOf[T]()) > tallBytes) {
		l.cols = ceil(ceil(l.cols, 2), width) * width
	}
	// With many workers, several read the same block, from the cache that they share.
	for l.rowChunks*ceil(a.N, l.cols) < workers && l.rows >= 2*tallMinRows {
		l.rowChunks *= 2
		l.rows = ceil(a.M, l.rowChunks)
	}
	for l.rowChunks*ceil(a.N, l.cols) < workers && l.cols > width {
		l.cols = ceil(ceil(l.cols, 2), width) * width
	}
	l.rowChunks = ceil(a.M, l.rows)
}

// tallPanel returns how many numbers of B a worker copies so that its rows do not compete for sets of the first-level
// cache, or 0 if it reads B in place. Lower tiles than those of AVX-512 read each number too often to load it from the
// second-level cache.
func tallPanel[T Float]() int {
	if f := isa.Active(); f.Has(isa.Vectors512) || f == isa.Portable {
		return 0
	}
	return micro.PanelWidth[T]() * blockK()
}

func sizeOf[T Float]() uintptr {
	return uintptr(4 * (32 / micro.PanelWidth[T]()))
}

type tallTask[T Float] Tall[T]

func (l *Tall[T]) task() pool.Task { return (*tallTask[T])(l) }

// Run implements pool.Task: it computes chunks of C.
func (l *tallTask[T]) Run(worker, lo, hi int) {
	size := tallPanel[T]()
	for chunk := lo; chunk < hi; chunk++ {
		m := chunk % l.rowChunks * l.rows
		l.block(m, min(l.rows, l.args.M-m), chunk/l.rowChunks*l.cols, l.panels[worker*size:(worker+1)*size])
	}
}

// block computes the chunk of C that starts at row m and column n; panel is memory for a panel of B, or empty.
func (l *tallTask[T]) block(m, rows, n int, panel []T) {
	a := &l.args
	width := micro.PanelWidth[T]()
	end := min(n+l.cols, a.N)
	t := micro.Tile[T]{Rows: rows, Segments: 1, Outer: 1, ARow: 1, AK: a.LDA, BK: a.LDB, NextStep: a.LDB, CRow: a.LDC}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k, next := i*a.K/blocks, (i+1)*a.K/blocks
		t.K = next - k
		t.Accumulate = a.Accumulate || i > 0
		t.A = a.A[k*a.LDA+m:]
		for c := n; c < end; c += width {
			t.Cols = min(width, end-c)
			t.B, t.C, t.Next = a.B[k*a.LDB+c:], a.C[m*a.LDC+c:], nil
			if len(panel) > 0 {
				micro.PackPanel(panel, t.B, t.K, t.Cols, a.LDB, 1)
				t.B, t.BK = panel, width
			}
			switch {
			case c+width < end:
				t.Next = a.B[k*a.LDB+c+width:]
			case i+1 < blocks && (a.K-next) >= t.K:
				t.Next = a.B[next*a.LDB+n:]
			}
			micro.Run(&t)
			if l.c == nil && m == 0 {
				l.addUp(&t, c, i > 0)
			}
		}
		if l.c != nil && n == 0 && l.sums != nil { // these are the sums of the columns of A
			u := t
			u.BK = a.LDA
			for c := m; c < m+rows; c += width {
				u.B, u.Cols = a.A[k*a.LDA+c:], min(width, m+rows-c)
				l.addUp(&u, c, i > 0)
			}
		}
	}
	if l.c != nil {
		micro.Transpose(l.c[n*l.ldc+m:], a.C[m*a.LDC+n:], rows, end-n, l.ldc, a.LDC)
	}
}

// addUp adds the rows that the tile reads to the sums of the columns from c on; if more is false, it starts these sums.
func (l *tallTask[T]) addUp(t *micro.Tile[T], c int, more bool) {
	if l.sums == nil {
		return
	}
	sums := micro.Tile[T]{A: ones[T](), B: t.B, C: l.sums[c:], Rows: 1, Cols: t.Cols, K: t.K, Segments: 1, Outer: 1, BK: t.BK, Accumulate: more}
	micro.Run(&sums)
}

var (
	ones32 = []float32{1}
	ones64 = []float64{1}
)

// ones returns a row of ones, to be read with stride 0.
func ones[T Float]() []T {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return unsafe.Slice((*T)(unsafe.Pointer(&ones32[0])), 1)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&ones64[0])), 1)
}
