package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product of few rows uses each number of B only a few times. A B that exceeds the caches then comes through memory:
// the weights of a wide layer with a small batch. It is read in place, a few rows at a time through all columns of a
// chunk. The processor prefetches them because it sees each row being read, and the sums of these products are
// continued in the cache. If the processor prefetches well by itself and there are very few rows, one call computes all
// panels of a part, and prefetches the next part, which follows in memory. That takes 0.7 to 0.85 of the time if B
// comes from the third-level cache, and the same time if it comes from memory.

const (
	streamSums    = 96      // products (rows of B) at a time
	streamMinSums = 8       // fewest, however long the rows are
	streamMinRows = 3       // rows of C: fewer read B at the speed of memory anyway
	streamMaxRows = 256     // rows in a chunk
	streamMinSize = 3 << 19 // bytes of B,
	streamNear    = 1 << 24 // or so many where a third-level cache that few cores share is as fast for units of 256 bits
	streamPanels  = 4       // fewest panels of B: the rows of a narrow one follow each other closely enough
	streamBytes   = 1 << 18 // bytes of a chunk of C, which has at least maxCols columns
	streamAhead   = 2       // panels from what is read to what is prefetched
	streamFewRows = 4       // most rows for which a call for each panel of a part takes long compared with the products
	streamPart    = 3 << 17 // bytes of B: two of them stay in the second-level cache
)

// streams reports whether a B that is read in place comes through memory. Several workers have more room in their
// caches, and weights that are in one worker's cache, for the update too, must not move to another's.
func (a *Args[T]) streams(workers int) bool {
	if a.Packed || a.TransB || a.Accumulate || a.M < streamMinRows || a.N < streamPanels*micro.PanelWidth[T]() {
		return false
	}
	size := a.K * a.N * int(sizeOf[T]())
	pays := size > streamLeast()
	if workers > 1 {
		pays = a.isFlat() && size > workers*flatShare
	}
	return pays && byStream.Taken()
}

// streamLeast returns the bytes of B from which on it comes through memory, or through a slow cache.
func streamLeast() int {
	if isa.NearCache() && isa.HalfUnits() {
		return streamNear
	}
	return streamMinSize
}

// streamParts returns the number of parts in which a block of products is added. Families with lower tiles than AVX-512
// gain from parts only if rows of B compete for sets of the first-level cache. Portable Go, which adds the bias last,
// does not gain.
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

// conflictsB reports whether rows of B compete for the same sets of the first-level cache.
func (a *Args[T]) conflictsB() bool { return SpacedRow[T](a.LDB) != a.LDB }

// streamCols returns the most columns of a chunk.
func (a *Args[T]) streamCols(rows int) int {
	width := micro.PanelWidth[T]()
	return max(maxCols, streamBytes/int(sizeOf[T]())/rows/width*width)
}

// streamSize is the scratch memory of one worker: the sums of a block, if there are several blocks.
func (p *plan[T]) streamSize(a *Args[T]) int {
	if a.K <= BlockK/2 {
		return 0
	}
	return p.rows * p.cols
}

// stream computes the chunk of C that starts at row m and column n; block is memory for the sums of a block. The last,
// incomplete panel of B is packed, and its blocks are added in one piece.
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

// addRows adds rows to those of C. If relu is set, it takes max(·, 0) of the sums.
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

// streamRows is streamPart for whole rows of B, in one call, which prefetches the next part if there is one.
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
