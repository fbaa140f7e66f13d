package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product with few columns, C[M, N] = A[K, M]ᵀ·B[K, N], is the gradient of weights with few outputs: A is the large
// input of a layer. Tiles would read A by columns, each line from another page, for panels of B that are mostly
// padding. So the product is computed as Cᵀ = Bᵀ·A: A is the vector operand, B the scalar one, and chunks of Cᵀ are
// transposed into C. Each sum adds the same products in the same order. If A comes through memory, it is read a few
// rows at a time, which the processor prefetches because it sees each row being read; the sums of these products are
// continued in the second-level cache.

const (
	narrowMinCols = 24      // products of fewer columns are always computed this way,
	narrowMaxCols = 128     // those of at most that many if sums are not short: for more, transposing A or reading it as it is costs less
	narrowMinRows = 16      // rows of C from which on it has vectors to fill, if it has fewer rows than columns
	narrowChunk   = 512     // columns of Cᵀ (rows of C) in a chunk, and more while
	narrowBytes   = 1 << 18 // the chunk is smaller

	narrowSmallRows = 64 // rows of C and
	narrowSmallSums = 32 // products of a sum from which on this also applies to few columns and an A that the cache holds

	narrowSums  = 96      // products (rows of A) at a time if
	narrowLarge = 3 << 19 // A has more bytes
	narrowAhead = 2       // panels from what is read to what is prefetched
	narrowTurn  = 64      // columns of Cᵀ that are transposed at a time: their C stays in the first-level cache

	narrowPackCols = 24  // columns from which on copying panels of A pays if the rows of A compete for the same cache sets
	narrowPackSums = 128 // and there are more rows than these
)

func (a *Args[T]) isNarrow() bool {
	if !a.TransA || a.TransB || a.Packed || a.Accumulate || a.ReLU || a.Bias != nil || a.Batch != [2]int{1, 1} {
		return false
	}
	pays := a.N < narrowMinCols || a.N <= narrowMaxCols && a.K > turnMinSums
	if !a.isLargeA() {
		pays = a.M >= narrowSmallRows && a.K >= narrowSmallSums && a.mostlyPadding()
	}
	return pays && a.M >= min(a.N, narrowMinRows) && byNarrow.Taken()
}

// mostlyPadding reports whether B would leave vectors of its panels mostly empty.
func (a *Args[T]) mostlyPadding() bool {
	half := micro.PanelWidth[T]() / 2
	return a.N < half || a.N > half && a.N <= half+half/4
}

// packsNarrow reports whether blocks of A are copied into panels.
func (a *Args[T]) packsNarrow() bool {
	return a.N >= narrowPackCols && conflicts(a) && a.K > narrowPackSums
}

// narrowPart returns how many products are added at a time.
func (a *Args[T]) narrowPart() int {
	if a.N > 2 && a.M*a.K*int(sizeOf[T]()) > narrowLarge {
		return min(a.K, narrowSums)
	}
	return min(a.K, BlockK)
}

// turnsNarrow reports whether blocks of B are transposed, because its rows compete for the same cache sets.
func (a *Args[T]) turnsNarrow() bool { return a.conflictsB() }

// narrowTask computes chunks of columns of Cᵀ.
type narrowTask[T Float] struct{ job *job[T] }

// narrowRows returns the columns of Cᵀ (rows of C) in a chunk; each worker gets the same number of chunks.
func (a *Args[T]) narrowRows(workers int) int {
	width := micro.PanelWidth[T]()
	chunks := ceil(a.M, max(narrowChunk, narrowBytes/int(sizeOf[T]())/a.N))
	if workers > 1 && a.M*a.N*a.K >= chunkFlops {
		chunks = ceil(chunks, workers) * workers
	}
	return ceil(ceil(a.M, chunks), width) * width
}

// narrowSize is the scratch memory of one worker: a transposed block of B, a chunk of Cᵀ, another chunk if sums have
// several blocks, and a panel of A.
func (p *plan[T]) narrowSize(a *Args[T]) int {
	size := a.N * (min(a.K, BlockK) + rowGap + p.rows + rowGap)
	if a.K > BlockK/2 {
		size += a.N * (p.rows + rowGap)
	}
	if a.packsNarrow() {
		size += a.narrowPart() * micro.PanelWidth[T]()
	}
	return size
}

func (j *job[T]) runNarrow(p *pool.Pool) {
	a, width := &j.args, micro.PanelWidth[T]()
	if rest := a.M % width; rest != 0 {
		j.plan.shared, j.scratch = j.scratch[:width*a.K], j.scratch[width*a.K:]
		micro.PackColumns(j.plan.shared, a.A[a.M-rest:], a.K, rest, a.LDA)
	}
	p.Parallel(ceil(a.M, j.plan.rows), 1, &j.narrow)
}

// narrowMemory is the scratch memory of a worker: a block of Bᵀ, the sums of a chunk of Cᵀ, those of a block, and room
// for a panel of A if these are copied.
type narrowMemory[T Float] struct{ turned, sums, block, panel []T }

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
	var m narrowMemory[T]
	m.turned, m.sums = cut(a.N*(min(a.K, BlockK)+rowGap)), cut(a.N*(rows+rowGap))
	m.block = m.sums
	if a.K > BlockK/2 {
		m.block = cut(a.N * (rows + rowGap))
	}
	m.panel = memory
	for i := lo; i < hi; i++ {
		first := i * rows
		n := min(rows, a.M-first)
		j.narrowChunk(&m, first, n)
		for c := 0; c < n; c += narrowTurn {
			micro.Transpose(a.C[(first+c)*a.LDC:], m.sums[c:], a.N, min(narrowTurn, n-c), a.LDC, rows+rowGap)
		}
	}
}

// narrowChunk computes the columns [m, m+n) of Cᵀ.
func (j *job[T]) narrowChunk(memory *narrowMemory[T], m, n int) {
	a := &j.args
	stride := min(a.K, BlockK) + rowGap
	t := micro.Tile[T]{Rows: a.N, Segments: 1, Outer: 1, ARow: stride, AK: 1, CRow: j.plan.rows + rowGap}
	turns := a.turnsNarrow()
	if !turns {
		t.ARow, t.AK = 1, a.LDB
	}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k, end := i*a.K/blocks, (i+1)*a.K/blocks
		operand := a.B[k*a.LDB:]
		if turns {
			micro.Transpose(memory.turned, operand, end-k, a.N, stride, a.LDB)
			operand = memory.turned
		}
		sums := memory.sums
		if i > 0 {
			sums = memory.block
		}
		parts := ceil(end-k, a.narrowPart())
		for p := range parts {
			from, to := k+p*(end-k)/parts, k+(p+1)*(end-k)/parts
			t.A, t.K, t.Continue = operand[(from-k)*t.AK:], to-from, p > 0
			j.narrowPart(&t, sums, memory.panel, from, m, n)
		}
		if c := n / micro.PanelWidth[T]() * micro.PanelWidth[T](); c < n { // the last panel is packed, and added in one piece
			t.A, t.K, t.Continue = operand, end-k, false
			t.B, t.BK, t.C, t.Cols, t.Next = j.plan.shared[k*micro.PanelWidth[T]():], micro.PanelWidth[T](), sums[c:], n-c, nil
			micro.Run(&t)
		}
		if i > 0 {
			vec.Add(memory.sums, memory.sums, sums)
		}
	}
}

// narrowPart adds a few products to the sums of the whole panels of the columns [m, m+n) of Cᵀ, from row k of A on.
func (j *job[T]) narrowPart(t *micro.Tile[T], sums, panel []T, k, m, n int) {
	a, width := &j.args, micro.PanelWidth[T]()
	for c := 0; c+width <= n; c += width {
		t.Cols, t.C, t.Next = width, sums[c:], nil
		t.B, t.BK = a.A[k*a.LDA+m+c:], a.LDA
		if next := (k*a.LDA + m + c) + narrowAhead*width; c+narrowAhead*width < n {
			t.Next, t.NextStep = a.A[next:], a.LDA
		}
		if len(panel) > 0 {
			micro.PackPanel(panel, t.B, t.K, width, a.LDA, 1)
			t.B, t.BK = panel, width
		}
		micro.Run(t)
	}
}
