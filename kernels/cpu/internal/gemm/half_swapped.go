package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// A product of few rows with a transposed matrix is computed as its transpose, as in float32 (transposed.go): B, the
// weights, is widened along its rows, and only the packed A and the chunks of C are transposed. The sums are the same.
//
// So is a product of a transposed A with more rows than columns, if matrix registers need A transposed: of the two
// operands, both of which are stored along the sums, the smaller one is transposed.

const turnedGap = 16 // between the rows of a transposed chunk, so that they do not compete for the same cache sets

// swap exchanges the operands if computing the transpose costs less, and reports whether the result has to be
// transposed.
func (a *HalfArgs) swap() bool {
	if a.N == 1 && a.LDC == 1 && a.Bias == nil && a.Packed == nil && a.fewColumns(1) {
		a.exchange()
		a.LDC = a.N // columns become rows
		return false
	}
	if a.Packed != nil || a.M == 1 || !a.fewColumns(leastTurned) && !a.packsLess() && (a.Batch != [2]int{1, 1} || !a.turnsLess()) {
		return false
	}
	a.exchange()
	return true
}

// exchange turns the product into that of the transposes.
func (a *HalfArgs) exchange() {
	a.M, a.N = a.N, a.M
	a.A, a.B = a.B, a.A
	a.LDA, a.LDB = a.LDB, a.LDA
	a.TransA, a.TransB = !a.TransB, !a.TransA
	a.StrideA, a.StrideB = a.StrideB, a.StrideA
}

// leastTurned is the length of sums from which on transposing the result costs less than mostly empty vectors.
const leastTurned = 32

// leastTurnedA is the same where A has to be transposed too.
const leastTurnedA = 64

// fewColumns reports whether a matrix of many rows is multiplied in pairs with so few columns that they leave most of a
// vector empty; the rows of a transposed A, as they are stored, fill it. Sums must have at least that many products. An
// A that is not transposed has to be first, which long sums pay for; its panels then are those of a transposed B.
func (a *HalfArgs) fewColumns(least int) bool {
	const most, mostInPlace, mostCopied = 8, 6, 10
	if a.M < 4*most || !a.pairs() || micro.Matrices() {
		return false
	}
	pays := false
	switch {
	case a.TransA:
		pays = a.N <= most && a.K >= least
	case !isa.Active().Has(isa.Vectors512):
	case a.readsPairs():
		pays = a.N <= mostInPlace && a.K >= leastTurnedA
	default:
		pays = a.N <= mostCopied && a.K >= leastTurnedA
	}
	return pays && byHalfColumns.Taken()
}

// readsPairs reports whether tiles can read the pairs of A where they are.
func (a *HalfArgs) readsPairs() bool {
	return !a.TransA && a.K%2 == 0 && a.LDA%2 == 0 && (a.M == 1 || a.LDA%1024 != 0) && a.StrideA[0]%2 == 0 && a.StrideA[1]%2 == 0
}

// columnAsRow describes a matrix of one column as one row, which is the same memory.
func (a *HalfArgs) columnAsRow() {
	if a.K == 1 && a.TransB && a.LDB == 1 && a.Packed == nil {
		a.TransB, a.LDB = false, a.N
	}
	if a.K == 1 && !a.TransA && a.LDA == 1 && a.M > 1 && !micro.Matrices() {
		a.TransA, a.LDA = true, a.M
	}
}

// packsLess reports whether a product of few rows with a transposed matrix, which is widened, packs less as its
// transpose.
func (a *HalfArgs) packsLess() bool {
	return a.TransB && a.N >= transposedMinRows && !a.pairs() && a.M*(a.K+a.N) <= a.K*a.N && byHalfPacks.Taken()
}

// turnsLess reports whether computing the transpose saves more than transposing the result costs, because less is
// transposed of B than would be of A. A is transposed again for each chunk of columns unless the sums are one block.
func (a *HalfArgs) turnsLess() bool {
	if !a.TransA || a.TransB || !a.pairs() || !micro.Matrices() {
		return false
	}
	turns := func(rows, cols int) int {
		if k := ceil(a.K, 2); k > blockK() && min(rows, halfRowsMatrices)*k > mostTurned {
			rows *= ceil(cols, halfCols)
		}
		return rows
	}
	return a.K*(turns(a.M, a.N)-turns(a.N, a.M)) > transposeCost*a.M*a.N && byHalfTurns.Taken()
}

// transposeCost is the cost of transposing a float32 of C, if transposing an element of A costs 1. It was estimated,
// not measured on a processor with matrix registers.
const transposeCost = 4

// turned is the memory for a transposed chunk of C.
func (p *halfPlan) turned() int {
	if !p.swapped {
		return 0
	}
	return p.cols * (p.rows + turnedGap)
}

// store rounds the sums of a chunk, or of some of its rows, from row m and column n on, and stores them in the batch
// entry at an offset. lines and turned are scratch memory.
func (j *halfJob) store(sums, lines, turned []float32, at, m, n, rows, cols int) {
	a, from := &j.args, j.plan.lineC
	if j.plan.swapped {
		follow := rows == a.M && a.LDC == rows && a.Bias == nil // rows of the result are contiguous
		if from = rows + turnedGap; follow {
			from = rows
		}
		done := micro.TransposeShort(turned, sums[:cap(sums)], rows, cols, from, j.plan.lineC)
		micro.Transpose(turned[done*from:], sums[done:], rows, cols-done, from, j.plan.lineC)
		sums, m, n, rows, cols = turned, n, m, cols, rows
		if follow {
			at, m, rows, cols, from = at+m*a.LDC, 0, 1, rows*cols, rows*cols
		}
	}
	a.finish(sums, lines, at+m*a.LDC+n, rows, n, cols, from)
}

// panels is the memory for the panels of the right operand if they are made in advance. If A has become that operand
// and there is one A, its panels are.
func (p *halfPlan) panels(a *HalfArgs) int {
	if !p.packs && (!p.swapped || p.pairs || a.Batch != [2]int{1, 1}) {
		return 0
	}
	width := micro.PanelWidth[float32]()
	return ceil(a.N, width) * width * a.panelRows()
}
