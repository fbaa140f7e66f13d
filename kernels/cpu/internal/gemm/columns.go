package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product of many short rows with a few columns, C[M, N] = A[M, K]·B[K, N], is a layer with one output, or the input
// gradient of a layer with one input. The few columns would leave vectors mostly empty, so the product is computed as
// its transpose, Cᵀ = Bᵀ·Aᵀ: rows of A are transposed into the first-level cache and become the vector operand. Each
// sum adds the same products in the same order.

const (
	columnsMost    = 4       // most columns of C
	columnsMinRows = 64      // fewest rows of A
	columnsBlock   = 1 << 13 // numbers of A that are transposed at a time
	columnsRows    = 1 << 10 // but no more rows than that

	columnsFour     = 3 // most columns in vectors of four numbers,
	columnsFourSums = 2 // and products of a sum
)

// isColumns reports whether the product is computed this way. In vectors of four numbers, few columns fill tiles.
func (a *Args[T]) isColumns() bool {
	if sizeOf[T]() == 8 && !isa.Active().Has(isa.Vectors512) && (a.N > columnsFour || a.K > columnsFourSums) {
		return false
	}
	return a.N <= columnsMost && a.K <= blockK() && a.M >= columnsMinRows && a.LDC == a.N && a.Batch == [2]int{1, 1} &&
		!a.TransA && !a.Packed && a.Panels == nil && !a.Accumulate && isa.Active().Has(isa.Vectors256) && byColumns.Taken()
}

// columnsPiece is the number of rows computed at a time.
func (a *Args[T]) columnsPiece() int {
	width := micro.PanelWidth[T]()
	return min(max(columnsBlock/a.K/width*width, width), columnsRows)
}

// columnsSize is the scratch memory of one worker: rows of A as columns, and rows of Cᵀ.
func (a *Args[T]) columnsSize() int { return (a.K+1+a.N)*(a.columnsPiece()+rowGap) + a.N*(a.K+1) }

// columnsTask computes pieces of rows.
type columnsTask[T Float] struct{ job *job[T] }

func (j *job[T]) runColumns(p *pool.Pool) {
	a := &j.args
	piece := a.columnsPiece()
	p.Parallel(ceil(a.M, piece), max(chunkFlops/8/(piece*(a.K+a.N)), 1), &j.columns)
}

// Run computes the pieces [lo, hi).
func (t *columnsTask[T]) Run(worker, lo, hi int) {
	a, size := &t.job.args, t.job.args.columnsSize()
	scratch := t.job.scratch[worker*size : (worker+1)*size]
	for i, piece := lo, a.columnsPiece(); i < hi; i++ {
		a.columnsRows(scratch, i*piece, min(piece, a.M-i*piece))
	}
}

// columnsRows computes the rows [m, m+n).
func (a *Args[T]) columnsRows(scratch []T, m, n int) {
	width, stride := micro.PanelWidth[T](), a.columnsPiece()+rowGap
	first, x, sums := scratch[:stride], scratch[stride:(a.K+1)*stride], scratch[(a.K+1)*stride:]
	b, row, step, k := a.B, 1, a.LDB, a.K
	if a.TransB {
		row, step = a.LDB, 1
	}
	if a.Bias != nil { // tiles start from the bias
		k = a.K + 1
		with := sums[a.N*stride:]
		for i := range a.N {
			with[i*k] = a.Bias[i]
			for j := range a.K {
				with[i*k+1+j] = b[i*row+j*step]
			}
		}
		for i := range first[:n] {
			first[i] = 1
		}
		b, row, step = with, k, 1
	}
	if a.Bias == nil && a.K == 1 && a.LDA == 1 {
		x = a.A[m:]
	} else {
		turnRows(x, a.A[m*a.LDA:], n, a.K, stride, a.LDA)
	}
	c := a.C[m*a.N : (m+n)*a.N]
	if a.N == 1 {
		sums = c
	}
	if a.Bias != nil {
		x = scratch
	}
	t := micro.Tile[T]{A: b, ARow: row, AK: step, B: x, BK: stride, C: sums, CRow: stride, Rows: a.N, K: k, Segments: 1, Outer: 1,
		Cols: width, Lines: n / width, BLine: width, CLine: width}
	if t.Lines > 0 {
		micro.Run(&t)
	}
	if rest := n % width; rest > 0 {
		t.B, t.C, t.Cols, t.Lines = x[n-rest:], sums[n-rest:], rest, 0
		micro.Run(&t)
	}
	for i := range a.N {
		row := sums[i*stride:][:n]
		if a.ReLU {
			vec.Relu(row, row)
		}
	}
	if a.N > 1 {
		a.interleave(c, sums, n, stride)
	}
}

// turnRows stores dst[k·to + r] = src[r·from + k] for r below rows and k below cols.
func turnRows[T Float](dst, src []T, rows, cols, to, from int) {
	size := int(sizeOf[T]())
	if cols >= 32/size {
		micro.Transpose(dst, src, rows, cols, to, from)
		return
	}
	for k := range cols {
		column := dst[k*to:][:rows]
		done := vec.Strided(unsafe.Pointer(&column[0]), unsafe.Pointer(&src[k]), size, from, rows)
		for r := done; r < rows; r++ {
			column[r] = src[r*from+k]
		}
	}
}

// interleave stores n rows of C from their columns, which are stride elements apart.
func (a *Args[T]) interleave(c, columns []T, n, stride int) {
	var sources [columnsMost]unsafe.Pointer
	for i := range a.N {
		sources[i] = unsafe.Pointer(&columns[i*stride])
	}
	for r := vec.Turns(unsafe.Pointer(&c[0]), sources[:a.N], int(sizeOf[T]()), 0, n); r < n; r++ {
		for i := range a.N {
			c[r*a.N+i] = columns[i*stride+r]
		}
	}
}
