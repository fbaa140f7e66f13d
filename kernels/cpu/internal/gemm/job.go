package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// job is a running product: the task that workers share.
type job[T Float] struct {
	args       Args[T]
	plan       plan[T]
	scratch    []T
	packing    packTask[T]
	row        rowTask[T]
	transposed transposedTask[T]
	narrow     narrowTask[T]
	lined      linedTask[T]
	columns    columnsTask[T]
	few        fewTask[T]
	deep       deepTask[T]
	deepSum    deepSumTask[T]
	gram       gramTask[T]
	sums       []T     // of the blocks of a deep product
	ahead      fetched // how much of args.Ahead has been prefetched
}

// fetched says how much of a list of slices has been prefetched into the cache.
type fetched struct{ piece, done int }

var (
	jobs32 pool.Recycler[job[float32]]
	jobs64 pool.Recycler[job[float64]]
)

func getJob[T Float]() *job[T] {
	var j *job[T]
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		j = (*job[T])(unsafe.Pointer(jobs32.Get()))
	} else {
		j = (*job[T])(unsafe.Pointer(jobs64.Get()))
	}
	j.link()
	return j
}

// link sets the parts' pointers to the job.
func (j *job[T]) link() {
	j.packing.job, j.row.job, j.transposed.job, j.narrow.job, j.lined.job, j.columns.job, j.few.job, j.deep.job, j.deepSum.job, j.gram.job = j, j, j, j, j, j, j, j, j, j
}

func putJob[T Float](j *job[T]) {
	j.args, j.plan, j.scratch, j.ahead = Args[T]{}, plan[T]{}, nil, fetched{} // let go of the caller's memory
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		jobs32.Put((*job[float32])(unsafe.Pointer(j)))
	} else {
		jobs64.Put((*job[float64])(unsafe.Pointer(j)))
	}
}

// run packs what is shared, then computes the chunks of C.
func (j *job[T]) run(p *pool.Pool) {
	if j.plan.transposed {
		j.runTransposed(p)
		return
	}
	if j.plan.narrow {
		j.runNarrow(p)
		return
	}
	if j.plan.lined {
		j.runLined(p)
		return
	}
	if j.plan.columns {
		j.runColumns(p)
		return
	}
	if j.plan.few {
		j.runFew(p)
		return
	}
	a := &j.args
	size := j.plan.sharedSize(a)
	j.plan.shared, j.scratch = j.scratch[:size], j.scratch[size:]
	switch {
	case j.plan.source == shared:
		j.pack(p)
	case j.plan.tail:
		n := a.N / micro.PanelWidth[T]() * micro.PanelWidth[T]()
		packPanel(j.plan.shared, a.B, a, 0, a.K, n)
	}
	if j.plan.deep {
		j.runDeep(p)
		return
	}
	chunks := j.plan.batch * j.plan.rowChunks * j.plan.colChunks
	grain := 1
	if flops := 2 * min(j.plan.rows, a.M) * min(j.plan.cols, a.N) * a.K; flops < chunkFlops/2 {
		grain = max(chunkFlops/2/max(flops, 1), 1) // many small products in a batch
	}
	p.Parallel(chunks, grain, j)
	if j.plan.gram {
		j.mirror(p)
	}
}

// pack writes B into plan.shared.
func (j *job[T]) pack(p *pool.Pool) {
	width := micro.PanelWidth[T]()
	grain := max(1<<14/(width*max(j.args.K, 1)), 1)
	p.Parallel(ceil(j.args.N, width), grain, &j.packing)
}

// Run computes chunks of C; a chunk is a block of rows and columns of one entry of the batch.
func (j *job[T]) Run(worker, lo, hi int) {
	p := &j.plan
	for chunk := lo; chunk < hi; chunk++ {
		col, rest := chunk%p.colChunks, chunk/p.colChunks
		row, entry := rest%p.rowChunks, rest/p.rowChunks
		j.block(worker, entry/j.args.Batch[1], entry%j.args.Batch[1], row*p.rows, col*p.cols)
	}
}

// block computes the chunk of C that starts at row m and column n of the batch entry (e0, e1).
func (j *job[T]) block(worker, e0, e1, m, n int) {
	a, p := &j.args, &j.plan
	width := micro.PanelWidth[T]()
	matrixA := a.A[e0*a.StrideA[0]+e1*a.StrideA[1]:]
	matrixB := a.B[e0*a.StrideB[0]+e1*a.StrideB[1]:]
	matrixC := a.C[e0*a.StrideC[0]+e1*a.StrideC[1]:]
	rows, endN := min(p.rows, a.M-m), min(n+p.cols, a.N)
	t := micro.Tile[T]{Rows: rows, Segments: 1, Outer: 1, CRow: a.LDC, FarA: isFar[T](a.M, a.K)}
	var packedA, packed []T
	if size := p.localSize(a); size > 0 {
		packed = j.scratch[worker*size : (worker+1)*size]
		packedA, packed = packed[:p.localSizeA(a)], packed[p.localSizeA(a):]
	}
	if p.streams {
		j.stream(matrixA, matrixB, matrixC, packedA, packed, m, n)
		return
	}
	if p.follows && len(a.Ahead) == 0 {
		j.follow(&t, matrixA, matrixB, matrixC, packed, m, n, endN)
		return
	}
	if p.gram {
		if n = gramFirst[T](m, n); n >= endN {
			return
		}
	}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k := i * a.K / blocks
		t.Rows, t.K = rows, (i+1)*a.K/blocks-k
		j.setA(&t, matrixA, packedA, m, k)
		t.Accumulate = a.Accumulate || i > 0
		t.FetchC = p.fetchC
		t.ReLU = a.ReLU && i == blocks-1
		first := n
		if p.sweeps {
			first = j.sweep(&t, matrixB, matrixC, m, n, endN)
		}
		for c := first; c < endN; c += width {
			t.Cols = min(width, endN-c)
			if p.gram {
				t.Rows = gramRows[T](rows, m, c)
			}
			t.Next = nil
			t.C = matrixC[m*a.LDC+c:]
			t.Bias = nil
			if a.Bias != nil && i == 0 {
				t.Bias = a.Bias[c:]
			}
			j.setB(&t, matrixB, packed, k, n, c, endN)
			micro.Run(&t)
		}
	}
}

// sweep computes the whole panels of the columns [n, end), whose sums are short: a few rows at a time go through all
// panels. So C is written in long runs of few rows, with few calls. It prefetches short rows of a large C. It returns
// the first column that it has not computed, which is n if one call for each panel makes fewer calls.
func (j *job[T]) sweep(t *micro.Tile[T], matrixB, matrixC []T, m, n, end int) int {
	a, width := &j.args, micro.PanelWidth[T]()
	panels := (end - n) / width
	if panels < 2 || panels < sweepPanels && t.Rows > sweepRows {
		return n
	}
	u := *t
	u.Cols, u.Lines, u.CLine = width, panels, width
	switch {
	case a.Packed:
		u.B, u.BK, u.BLine = matrixB[n*a.K:], width, width*a.K
	case j.plan.source == shared:
		u.B, u.BK, u.BLine = j.plan.shared[n*a.K:], width, width*a.K
	default:
		u.B, u.BK, u.BLine = matrixB[n:], a.LDB, width
	}
	if a.Bias != nil {
		u.Bias, u.BiasLine = a.Bias[n:], width
	}
	size := int(sizeOf[T]())
	fetches := a.LDC*size < fetchRow && a.M*a.N*size >= fetchMinBytes
	if u.Next = j.fetch(t.K * width); len(u.Next) > 0 {
		u.NextStep, fetches = ceil(len(u.Next), t.K), false
	} else {
		u.NextStep, u.NextEvery = width, max(t.K/sweepRows, 1)
	}
	for r := 0; r < t.Rows; r += sweepRows {
		u.Rows = min(sweepRows, t.Rows-r)
		u.A, u.C = t.A[r*t.ARow:], matrixC[(m+r)*a.LDC+n:]
		if next := u.C[min(sweepRows*a.LDC, len(u.C)):]; fetches {
			u.Next = next
		}
		micro.Run(&u)
	}
	return n + panels*width
}

// setA sets a tile's scalar operand, from row m and sum k on. If the plan says so, it is copied to packed first.
func (j *job[T]) setA(t *micro.Tile[T], matrix, packed []T, m, k int) {
	a, p := &j.args, &j.plan
	stride := a.LDA
	switch {
	case p.turnA:
		stride = p.strideA(a)
		micro.Transpose(packed, matrix[k*a.LDA+m:], t.K, t.Rows, stride, a.LDA)
		t.A = packed
	case p.packA:
		stride = p.strideA(a)
		copyBlock(packed, matrix, a, m, t.Rows, k, t.K, stride)
		t.A = packed
	case a.TransA:
		t.A = matrix[m+k*a.LDA:]
	default:
		t.A = matrix[m*a.LDA+k:]
	}
	t.ARow, t.AK = stride, 1
	if a.TransA && !p.turnA {
		t.ARow, t.AK = 1, stride
	}
}

// setB sets a tile's vector operand, the panel at column c in a chunk of the columns [n, end), from sum k on, and what
// the tile prefetches meanwhile.
func (j *job[T]) setB(t *micro.Tile[T], matrix, packed []T, k, n, c, end int) {
	a, p, width := &j.args, &j.plan, micro.PanelWidth[T]()
	more := c+width < end
	switch {
	case p.source == local, p.ends && t.Cols < width:
		packPanel(packed, matrix, a, k, t.K, c)
		t.B, t.BK = packed, width
	case p.source == made:
		t.B, t.BK = a.Panels.Panel(packed, k, t.K, c), width
	case a.Packed:
		t.B, t.BK = matrix[c*a.K+k*width:], width
		if t.Next = j.fetch(t.K * width); len(t.Next) > 0 {
			t.NextStep = ceil(len(t.Next), t.K)
		} else if more { // the processor prefetches by itself, but later
			t.Next, t.NextStep = matrix[(c+width)*a.K+k*width:], width
		}
	case p.source == shared:
		t.B, t.BK = p.shared[c*a.K+k*width:], width
		if more {
			t.Next, t.NextStep = p.shared[(c+width)*a.K+k*width:], width
		}
	case p.tail && t.Cols < width:
		t.B, t.BK = p.shared[k*width:], width
	default:
		t.B, t.BK = matrix[k*a.LDB+c:], a.LDB
		if p.fetchB && more {
			t.Next = matrix[k*a.LDB+c+width:]
		}
	}
}

// fetch returns up to n more numbers of the memory that the caller uses next.
func (j *job[T]) fetch(n int) []T {
	at := &j.ahead
	for at.piece < len(j.args.Ahead) {
		rest := j.args.Ahead[at.piece][at.done:]
		if len(rest) == 0 {
			at.piece, at.done = at.piece+1, 0
			continue
		}
		n = min(n, len(rest))
		at.done += n
		return rest[:n]
	}
	return nil
}

// copyBlock copies a block of A, in A's own orientation, to rows that are stride apart.
func copyBlock[T Float](dst, src []T, a *Args[T], m, rows, k, sums, stride int) {
	lines, length, first := rows, sums, m*a.LDA+k
	if a.TransA {
		lines, length, first = sums, rows, k*a.LDA+m
	}
	for i := range lines {
		copy(dst[i*stride:i*stride+length], src[first+i*a.LDA:])
	}
}
