package gemm

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Products of 16-bit floats read and write 16 bits and accumulate in float32. Where the processor multiplies pairs of
// bfloat16, blocks of the operands are brought into the order that it needs; elsewhere they are widened to float32.
// Both happen when a chunk of C needs them, in memory that stays in the cache. A chunk of C is float32 until its sums
// are complete. So no operand and no result ever exists as a whole in 32 bits.
//
// Sums are formed in blocks of K, as in float32, and within these in pairs where the processor multiplies pairs. The
// bits depend only on K and on which of the two ways the processor uses, except that a single row never uses matrix
// registers. Each sum is rounded once; then the bias is added, which rounds again, as two separate operations would.

// HalfArgs describes a product of 16-bit floats, or a batch of them. The fields are those of [Args].
type HalfArgs struct {
	Type vec.Half

	M, N, K        int
	A, B, C        []uint16
	LDA, LDB, LDC  int
	TransA, TransB bool
	Bias           []uint16
	ReLU           bool
	Packed         []float32 // if not nil, B as [PackHalf] writes it; B itself is not read
	Variable       []float32 // if not nil, it is updated and C is nil: Rate times the rounded product is subtracted from it
	Rate           float32
	Narrow         bool // panels store 16 bits where numbers are widened, so that less memory is read

	Batch                     [2]int
	StrideA, StrideB, StrideC [2]int
}

const (
	halfRows         = 112     // rows of a chunk of C: whole tiles of AVX-512; twice as many where B is widened for each chunk
	halfRowsNarrow   = 256     // and more if C has few columns
	halfCols         = 256     // columns: fewer are not faster in matrix registers, and slower where A is transposed for each chunk
	halfRowsMatrices = 128     // rows: whole blocks of matrix registers
	halfRowMost      = 1 << 14 // longest row whose sums are not cut into blocks: there is memory for a panel of as many rows
	halfGap          = 16      // between the rows of a copied A, so that they do not compete for the same cache sets
)

// halfPlan says how a product of 16-bit floats is cut up.
type halfPlan struct {
	pairs                bool // pairs of bfloat16 are multiplied
	matrices             bool // in matrix registers, which need rows of A and take as long for one row as for 16
	rows, cols           int  // of a chunk
	rowChunks, colChunks int
	k, blockK            int  // 32-bit words of a sum and of a block of it: pairs, or widened numbers
	inPlace              bool // A is read in place
	row                  bool // one row in float32, whose sums are not cut into blocks
	lda                  int  // of the copied block of A
	lineC                int  // row stride of a chunk of sums
	step                 int  // rows of a chunk that are computed and rounded at a time
	lines                int  // entries of the batch that one call for each panel computes: see half_lined.go
	keepsA               bool // a worker keeps the rows of A for all blocks of a sum, for the next chunk of columns
	packs                bool // B is packed once in advance, for all chunks
	short                bool // sums are short: see half_short.go
	pads                 int  // zeros, in pairs, at the end of a copied row of A that complete a step of matrix registers
	rounds               bool // the call that completes the sums rounds them
	wide                 bool // pairs are multiplied by whole vectors of 512 bits at once: see half_wide.go
	turns                bool // wide: rows of A whose pairs begin within words are read in place, first the even ones, then the odd ones
	masks                bool // a transposed B is transposed by masked vectors
	swapped              bool // the transpose is computed: A is the caller's B, and C is transposed when it is stored
}

func newHalfPlan(a *HalfArgs, workers int, swapped bool) halfPlan {
	p := halfPlan{pairs: a.pairs(), k: a.K, blockK: blockK(), swapped: swapped}
	if p.pairs {
		p.k, p.matrices = ceil(a.K, 2), micro.Matrices() && a.M > 1
		p.masks = a.TransB && (a.K%2 != 0 || a.LDB%2 != 0 || micro.Matrices()) && micro.TurnsPairs()
		p.inPlace = a.readsPairs()
	}
	most, width := halfRows, micro.PanelWidth[float32]()
	p.setWide(a)
	p.rounds = p.roundsSums(a)
	switch {
	case p.wide:
		most = p.wideRows(a)
	case p.matrices:
		most = a.matrixRows(p.k)
	case p.rounds:
		most = p.roundedRows(most)
	case !p.pairs:
		if most *= 2; a.N <= halfCols/2 {
			most = halfRowsNarrow
		}
		if p.row = a.M == 1 && a.K > 0 && a.K <= halfRowMost; p.row {
			p.blockK = a.K
		}
	}
	p.short = p.matrices && p.k > 0 && p.k <= p.blockK
	p.setPads(a)
	p.rowChunks = ceil(a.M, most)
	p.cols = min(ceil(a.N, width)*width, p.mostCols(a))
	p.packs = (p.matrices || p.packsWide(a)) && p.rowChunks > 1 && a.Packed == nil && a.Batch == [2]int{1, 1}
	want := 1
	if workers > 1 {
		want = wantChunks * workers
	}
	for {
		p.rows, p.colChunks = ceil(a.M, p.rowChunks), ceil(a.N, p.cols)
		if p.matrices && p.rows > nearRows {
			p.rows = ceil(p.rows, nearRows) * nearRows
		}
		p.rowChunks = ceil(a.M, p.rows)
		if p.rowChunks*p.colChunks*a.Batch[0]*a.Batch[1] >= want || 2*p.rows*p.cols*a.K < 2*chunkFlops {
			break
		}
		switch {
		case p.cols > 2*width:
			p.cols = ceil(p.cols/width, 2) * width
		case p.rows >= 56:
			p.rowChunks *= 2
		default:
			want = 1
		}
	}
	p.setSteps(a)
	p.keepsA = p.k <= p.blockK || p.matrices && p.colChunks > 1 && (a.TransA && p.rows*p.k <= mostTurned || !a.TransA && !p.inPlace && p.rows*p.k <= matrixBlocksA)
	switch p.lda = p.longest() + halfGap; {
	case p.matrices && (a.TransA || p.lda <= wholePairs+halfGap):
		p.lda = turnedPairs
	case a.TransA && p.row: // contiguous, for the kernels of single rows
		p.lda = 1
	case a.TransA:
		p.lda = ceil(p.rows, 16)*16 + halfGap
	}
	p.setLines(a)
	return p
}

// sizes returns the 32-bit words that a worker needs for a chunk of C, a block of A, a block of a panel of B, and for
// rows of 16-bit numbers on their way.
func (p *halfPlan) sizes(a *HalfArgs) (c, blockA, panel, rows int) {
	k, width := p.longest(), micro.PanelWidth[float32]()
	if c = p.step * p.lineC; p.roundsVectors() {
		c = p.cols // a bias
	}
	switch {
	case p.matrices && (a.TransA || !p.inPlace):
		blockA = p.blocksOfA() * p.sizeOfA(a)
	case a.TransA:
		blockA = k * p.lda
	case !p.inPlace:
		blockA = p.rows * p.lda
	}
	if panel = k * width; p.packsChunks(a) {
		panel = k * p.cols
	}
	if a.TransB {
		rows = max(rows, k*width)
	}
	if rows = max(rows, p.cols); p.swapped {
		rows = max(rows, p.rows)
	}
	if p.lines > 1 {
		if !p.passes(a) {
			c *= p.lines
		}
		blockA, panel = blockA*p.lines, panel*p.lines
	}
	return c, blockA, panel, rows
}

// HalfScratch returns the number of float32 that [RunHalf] needs on a pool of the given Size. It depends on whether B
// is packed and whether there is a variable.
func HalfScratch(a *HalfArgs, workers int) int {
	size := 0
	for _, packed := range [][]float32{nil, {}} {
		for _, variable := range [][]float32{nil, {}} {
			n := a.normal()
			n.Packed, n.Variable = packed, variable
			p := newHalfPlan(&n, workers, n.swap())
			size = max(size, p.scratch(&n, workers))
		}
	}
	return size
}

// scratch is the number of float32 that the workers need.
func (p *halfPlan) scratch(a *HalfArgs, workers int) int {
	c, blockA, panel, rows := p.sizes(a)
	return (c+blockA+panel+rows+p.turned())*max(workers, 1) + p.panels(a)
}

func (a *HalfArgs) normal() HalfArgs {
	n := *a
	pick := func(ld *int, trans bool, rows, cols int) {
		if *ld == 0 && trans {
			*ld = rows
		} else if *ld == 0 {
			*ld = cols
		}
	}
	pick(&n.LDA, n.TransA, n.M, n.K)
	pick(&n.LDB, n.TransB, n.K, n.N)
	pick(&n.LDC, false, n.M, n.N)
	n.Batch[0], n.Batch[1] = max(n.Batch[0], 1), max(n.Batch[1], 1)
	n.columnAsRow()
	return n
}

// check panics unless every operand has the elements that its strides reach.
func (a *HalfArgs) check() {
	f := Args[float32]{M: a.M, N: a.N, K: a.K, LDA: a.LDA, TransA: a.TransA, LDB: a.LDB, TransB: a.TransB, LDC: a.LDC,
		Batch: a.Batch, StrideA: a.StrideA, StrideB: a.StrideB, StrideC: a.StrideC}
	lengthB := len(a.B)
	if a.Packed != nil {
		f.TransB, f.LDB, lengthB = false, a.N, a.K*a.N
		a.checkPanels()
	}
	lengthC := len(a.C)
	if a.Variable != nil {
		lengthC = len(a.Variable)
	}
	f.checkLengths(len(a.A), lengthB, lengthC)
	a.checkBias()
}

func (a *HalfArgs) checkPanels() {
	if _, need := HalfPanels(a); len(a.Packed) < need {
		panic(fmt.Sprintf("gemm: the panels have %d numbers, the product needs %d: ask HalfPanels", len(a.Packed), need))
	}
}

func checkScratch(have, need int) {
	if have < need {
		panic(fmt.Sprintf("gemm: scratch has %d elements, the product needs %d: ask HalfScratch", have, need))
	}
}

func (a *HalfArgs) checkBias() {
	if a.Bias != nil && len(a.Bias) < a.N {
		panic(fmt.Sprintf("gemm: bias has %d elements, expected N = %d", len(a.Bias), a.N))
	}
}

// halfJob is a running product.
type halfJob struct {
	args    HalfArgs
	plan    halfPlan
	scratch []float32
	packing halfPacking
}

var halfJobs pool.Recycler[halfJob]

// RunHalf computes the product on the pool; a nil pool means the calling goroutine alone. It panics if an operand or
// scratch is too short: these are mistakes of the caller.
func RunHalf(p *pool.Pool, a *HalfArgs, scratch []float32) {
	if a.M <= 0 || a.N <= 0 {
		return
	}
	if a.isRow(p) {
		a.row(scratch)
		return
	}
	n := a.normal()
	n.check()
	swapped := n.swap()
	plan := newHalfPlan(&n, p.Size(), swapped)
	checkScratch(len(scratch), plan.scratch(&n, p.Size()))
	if size := plan.panels(&n); size > 0 {
		PackHalf(p, scratch[:size], &n)
		n.Packed, scratch = scratch[:size], scratch[size:]
	}
	j := halfJobs.Get()
	j.args, j.plan, j.scratch = n, plan, scratch
	chunks := n.Batch[0] * n.Batch[1] * j.plan.rowChunks * j.plan.colChunks
	grain := 1
	if flops := 2 * min(j.plan.rows, n.M) * min(j.plan.cols, n.N) * n.K; flops < chunkFlops/2 {
		grain = max(chunkFlops/2/max(flops, 1), 1)
	}
	if plan.keepsA && !plan.inPlace { // a worker gets neighbouring columns, because it has their rows of A
		pieces := 1
		if p.Size() > 1 {
			pieces = 2 * p.Size() // for balance
		}
		grain = max(grain, min(plan.colChunks, ceil(chunks, pieces)))
	}
	p.Parallel(chunks, grain, j)
	lines := j.packing.lines
	*j = halfJob{}
	j.packing.lines = lines
	halfJobs.Put(j)
}

// Run computes chunks of C.
func (j *halfJob) Run(worker, lo, hi int) {
	p, a := &j.plan, &j.args
	last := -1 // the first row of the chunk whose A is in the worker's memory
	for chunk := lo; chunk < hi && p.lines > 1; {
		chunk += j.entries(worker, chunk, hi)
	}
	for chunk := lo; chunk < hi && p.lines == 1; chunk++ {
		col, rest := chunk%p.colChunks, chunk/p.colChunks
		row, entry := rest%p.rowChunks, rest/p.rowChunks
		j.block(worker, entry/a.Batch[1], entry%a.Batch[1], row*p.rows, col*p.cols, rest == last)
		if last = -1; p.keepsA {
			last = rest
		}
	}
}

// setA sets a tile's scalar operand, from row m and sum k on. block is room for a copy of it; if holds, it has the
// copy.
func (j *halfJob) setA(t *micro.Tile[float32], block []float32, matrix []uint16, m, k int, holds bool) {
	a, p := &j.args, &j.plan
	t.A, t.ARow, t.AK = block, p.lda, 1
	switch {
	case p.inPlace:
		t.A, t.ARow = words(matrix[m*a.LDA+2*k:]), a.LDA/2
		return
	case a.TransA && !p.matrices:
		t.ARow, t.AK = 1, p.lda
	}
	switch {
	case holds:
	case a.TransA && p.matrices:
		j.turnA(block, matrix, m, t.Rows, k, t.K)
	default:
		j.packA(block, matrix, m, t.Rows, k, t.K)
	}
}

// block computes the chunk of C that starts at row m and column n of the batch entry (e0, e1). holdsA says that the
// worker's memory already has all the chunk's rows of A.
func (j *halfJob) block(worker, e0, e1, m, n int, holdsA bool) {
	a, p := &j.args, &j.plan
	chunk, blockA := j.memory(worker)
	sums, panel, lines := chunk.sums, chunk.panels, chunk.lines
	matrixA, matrixB := a.A[e0*a.StrideA[0]+e1*a.StrideA[1]:], a.B
	if a.Packed == nil {
		matrixB = a.B[e0*a.StrideB[0]+e1*a.StrideB[1]:]
	}
	rows, cols := min(p.rows, a.M-m), min(p.cols, a.N-n)
	width := micro.PanelWidth[float32]()
	t := micro.Tile[float32]{Rows: rows, Segments: 1, Outer: 1, CRow: p.lineC, BK: width, Pairs: p.pairs, Vectors: !p.matrices}
	inTurns := p.turns && a.finiteAfter(matrixA[m*a.LDA:], rows)
	at := e0*a.StrideC[0] + e1*a.StrideC[1]
	chunk.matrixB, chunk.at, chunk.m, chunk.n, chunk.cols = matrixB, at, m, n, cols
	blocks := ceil(p.k, p.blockK)
	var bias []float32
	if p.roundsVectors() && a.Bias != nil {
		bias = sums[:ceil(cols, width)*width]
		a.Type.Widen(bias[:cols], a.Bias[n:n+cols])
	}
	for i := range blocks {
		k, k1 := p.block(i, blocks)
		t.K = k1
		t.Accumulate = i > 0
		if inTurns {
			t.A = nil // runInTurns sets it
		} else if blocks > 1 && p.keepsA {
			j.setA(&t, blockA[i*p.sizeOfA(a):], matrixA, m, k, holdsA)
		} else {
			j.setA(&t, blockA, matrixA, m, k, holdsA)
		}
		if p.matrices {
			j.matrixSums(t, &chunk, k, i == blocks-1)
			continue
		}
		if p.row && a.addRow(sums, blockA[:p.k], panel, matrixB, n, cols) {
			continue
		}
		for c := 0; c < cols; c += width {
			t.Cols = min(width, cols-c)
			j.setB(&t, panel, lines, matrixB, k, n, c, cols)
			if p.roundsVectors() {
				j.roundTile(t, &chunk, bias, c, blockA, matrixA, inTurns)
				continue
			}
			if t.C = sums[c:]; p.row { // AddRowPanels above has added these up
				clear(t.C[:t.Cols])
				micro.AddRowPanels(t.C[:t.Cols], blockA[:p.k], t.B)
				continue
			}
			if inTurns {
				j.runInTurns(t, nil, blockA, matrixA, m, k)
				continue
			}
			micro.Run(&t)
		}
	}
	if blocks == 0 {
		clear(sums)
	} else if p.matrices || p.rounds {
		return
	}
	j.store(sums, lines, chunk.turned, at, m, n, rows, cols)
}

// setB sets a tile's vector operand, the panel at column c in a chunk of the columns [n, n+cols), from sum k on, and
// what the tile prefetches meanwhile.
func (j *halfJob) setB(t *micro.Tile[float32], panel, lines []float32, matrix []uint16, k, n, c, cols int) {
	a, p, width := &j.args, &j.plan, micro.PanelWidth[float32]()
	t.Next = nil
	switch more := c+width < cols; {
	case a.Packed != nil && a.narrow():
		a.Type.Widen(panel[:t.K*width], a.narrowPanel(n+c, k, t.K))
		t.B = panel
	case a.Packed != nil:
		t.B = a.Packed[(n+c)*a.panelRows()+k*width:]
		if p.wide && more {
			t.Next, t.NextStep = a.Packed[(n+c+width)*a.panelRows()+k*width:], 0
		}
	default:
		j.packB(panel, lines, matrix, k, t.K, n+c, t.Cols)
		t.B = panel
		if more {
			t.Next, t.NextStep = j.nextPanel(matrix, k, t.K, n+c+width)
		}
	}
}

// memory returns a worker's memory for a chunk and for a block of A.
func (j *halfJob) memory(worker int) (c halfChunk, blockA []float32) {
	p := &j.plan
	sizeC, sizeA, sizePanel, sizeRows := p.sizes(&j.args)
	size := sizeC + sizeA + sizePanel + sizeRows + p.turned()
	mine := j.scratch[worker*size : (worker+1)*size]
	c.sums, mine = mine[:sizeC], mine[sizeC:]
	blockA, mine = mine[:sizeA], mine[sizeA:]
	c.panels, mine = mine[:sizePanel], mine[sizePanel:]
	c.lines, c.turned = mine[:sizeRows], mine[sizeRows:]
	return c, blockA
}

// nextPanel returns the memory of the panel at column n for a block of sums as in packB, and the distance between the
// parts that the kernel prefetches, one with each of its sums.
func (j *halfJob) nextPanel(src []uint16, k, k1, n int) (next []float32, step int) {
	a := &j.args
	if j.plan.pairs {
		k *= 2
	}
	if a.TransB {
		return words(src[n*a.LDB+k:]), 16
	}
	return words(src[k*a.LDB+n:]), a.LDB / 2
}

// finish rounds a chunk of C, whose rows are from numbers apart, and stores it at an offset, with the bias and relu.
func (a *HalfArgs) finish(sums, bias []float32, at, rows, n, cols, from int) {
	if a.Variable != nil {
		a.Type.SubtractRows(a.Variable[at:], sums, a.Rate, cols, rows, a.LDC, from)
		return
	}
	out := a.C[at:][:(rows-1)*a.LDC+cols]
	if a.Bias != nil {
		bias = bias[:cols]
		a.Type.Widen(bias, a.Bias[n:n+cols])
		a.Type.RoundAddRows(out, sums, bias, cols, rows, a.LDC, from, a.ReLU)
		return
	}
	if a.ReLU {
		vec.Relu(sums, sums)
	}
	a.Type.NarrowRows(out, sums, cols, rows, a.LDC, from)
}

// words views 16-bit numbers as 32-bit words, each a pair.
func words(x []uint16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

// pairsOf views 32-bit words as pairs.
func pairsOf(x []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// halvesOf views 32-bit words as twice as many 16-bit numbers.
func halvesOf(x []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}
