package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product of few rows reads each number of B a few times only, and a B of more than the caches hold comes through
// memory: the weights of a wide layer with a small batch. It is read in place, a few rows at a time through all columns
// of a chunk, which the processor fetches ahead as it sees each row being read; the sums of so few products are begun
// and continued in the cache. Where the processor reads ahead by itself, the fewest rows have one call for all panels
// of a part, and the next part, which is what follows in memory, is fetched meanwhile: from the third-level cache that
// takes 0.7 to 0.85 of the time, and from memory as long.

const (
	streamSums    = 96      // products, rows of B, at a time
	streamMinSums = 8       // however long they are
	streamMinRows = 3       // of C: fewer read B at the speed of memory anyway
	streamMaxRows = 256     // in a chunk
	streamMinSize = 3 << 19 // bytes of B
	streamBytes   = 1 << 18 // of a chunk of C, of maxCols columns at least
	streamAhead   = 2       // panels from what is read to what is fetched
	streamFewRows = 4       // up to which a call for each panel of a part takes long beside the products
	streamPart    = 3 << 17 // bytes of B: two of them stay in the second-level cache
)

// streams reports whether B, if it is read in place, comes through memory. Several workers have room for more in their
// caches: weights that one of them has, for the update too, must not go to another.
func (a *Args[T]) streams(workers int) bool {
	if a.Packed || a.TransB || a.Accumulate || a.M < streamMinRows || a.N < micro.PanelWidth[T]() {
		return false
	}
	size := a.K * a.N * int(sizeOf[T]())
	if workers > 1 {
		return a.isFlat() && size > workers*flatShare
	}
	return size > streamMinSize
}

// streamParts is the number of parts in which a block of so many products is added. The lower tiles of other families
// than AVX-512 gain only where rows of B compete for places in the first-level cache, and portable Go, which adds the
// bias last, does not gain.
func (j *job[T]) streamParts(sums int) int {
	a := &j.args
	if j.plan.wholeRows {
		return ceil(sums, min(max(streamPart/(a.LDB*int(sizeOf[T]())), streamMinSums), streamSums))
	}
	if f := isa.Active(); f.Has(isa.Vectors512) || f != isa.Portable && a.conflictsB() {
		return ceil(sums, streamSums)
	}
	return 1
}

// conflictsB reports whether rows of B compete for places in the first-level cache.
func (a *Args[T]) conflictsB() bool { return SpacedRow[T](a.LDB) != a.LDB }

// streamCols is the largest number of columns in a chunk.
func (a *Args[T]) streamCols(rows int) int {
	width := micro.PanelWidth[T]()
	return max(maxCols, streamBytes/int(sizeOf[T]())/rows/width*width)
}

// streamSize is the scratch of one worker: the sums of a block, if there are several.
func (p *plan[T]) streamSize(a *Args[T]) int {
	if a.K <= BlockK/2 {
		return 0
	}
	return p.rows * p.cols
}

// stream computes the chunk of C that starts at row m and column n; block is room for the sums of a block. The last,
// incomplete panel of B is packed, and its blocks are added as wholes.
func (j *job[T]) stream(matrixA, matrixB, matrixC, packedA, block []T, m, n int) {
	a, p, width := &j.args, &j.plan, micro.PanelWidth[T]()
	rows, cols := min(p.rows, a.M-m), min(p.cols, a.N-n)
	whole := cols / width * width
	c := matrixC[m*a.LDC+n:]
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k, next := i*a.K/blocks, (i+1)*a.K/blocks
		t := micro.Tile[T]{Rows: rows, Segments: 1, Outer: 1, K: next - k, CRow: a.LDC, Accumulate: i > 0, ReLU: a.ReLU && i == blocks-1}
		j.setA(&t, matrixA, packedA, m, k)
		parts := j.streamParts(next - k)
		switch {
		case parts == 1:
			j.streamPart(&t, matrixB, c, k, n, whole)
		case i == 0:
			j.streamBlock(&t, parts, matrixB, c, k, n, whole)
		default:
			u := t
			u.CRow, u.Accumulate, u.ReLU = p.cols, false, false
			j.streamBlock(&u, parts, matrixB, block, k, n, whole)
			addRows(c, block, rows, whole, a.LDC, p.cols, t.ReLU)
		}
		if whole < cols {
			t.B, t.BK, t.C, t.Cols = p.shared[k*width:], width, c[whole:], cols-whole
			if a.Bias != nil && i == 0 {
				t.Bias = a.Bias[n+whole:]
			}
			micro.Run(&t)
		}
	}
}

// streamBlock computes whole panels for a block of products, part by part, from row k of B on.
func (j *job[T]) streamBlock(t *micro.Tile[T], parts int, matrix, sums []T, k, n, cols int) {
	u := *t
	for part := range parts {
		from, to := part*t.K/parts, (part+1)*t.K/parts
		u.A, u.K = t.A[from*t.AK:], to-from
		u.Continue, u.ReLU = part > 0, t.ReLU && part == parts-1
		j.streamPart(&u, matrix, sums, k+from, n, cols)
	}
}

// addRows adds rows to those of C, and takes max(·, 0) of the sums if relu is set.
func addRows[T Float](c, sums []T, rows, cols, rowC, rowSums int, relu bool) {
	for r := range rows {
		row := c[r*rowC:][:cols]
		vec.Add(row, sums[r*rowSums:][:cols], row)
		if relu {
			vec.Relu(row, row)
		}
	}
}

// streamPart adds products, from row k of B on, to the sums of whole panels, the columns [n, n+cols).
func (j *job[T]) streamPart(t *micro.Tile[T], matrix, sums []T, k, n, cols int) {
	a, width := &j.args, micro.PanelWidth[T]()
	t.Cols, t.BK, t.NextStep = width, a.LDB, a.LDB
	if j.plan.wholeRows {
		j.streamRows(t, matrix, sums, k, cols)
		return
	}
	for c := 0; c < cols; c += width {
		t.C, t.Next, t.Bias = sums[c:], nil, nil
		if k == 0 && a.Bias != nil {
			t.Bias = a.Bias[n+c:]
		}
		t.B = matrix[k*a.LDB+n+c:]
		if c+streamAhead*width < cols {
			t.Next = t.B[streamAhead*width:]
		}
		micro.Run(t)
	}
}

// streamRows is streamPart for whole rows of B, by one call. The next part is fetched, up to the last one.
func (j *job[T]) streamRows(t *micro.Tile[T], matrix, sums []T, k, cols int) {
	a, u := &j.args, *t
	u.Lines, u.BLine, u.CLine = cols/u.Cols, u.Cols, u.Cols
	u.B, u.C, u.Bias = matrix[k*a.LDB:], sums, nil
	if k == 0 && a.Bias != nil {
		u.Bias, u.BiasLine = a.Bias, u.Cols
	}
	if next := k + u.K; next+u.K <= a.K {
		u.Next, u.NextStep, u.NextEvery = matrix[next*a.LDB:], u.Cols, 1
	}
	micro.Run(&u)
}
