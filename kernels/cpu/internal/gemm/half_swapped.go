package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// A product of few rows with a transposed matrix is computed as its transpose, as that of float32 is (transposed.go):
// B, the weights, is widened along its rows, and only A, which is packed before, and the chunks of C are transposed.
// The sums are the same.
//
// So is a product of a transposed A with more rows than columns where matrix registers want A turned: of the two
// operands, both of which lie along the sums, the smaller one is turned.

const turnedGap = 16 // between the rows of a transposed chunk, so that they do not compete for places in the cache

// swap exchanges the operands where computing the transpose costs less, and reports whether the result is to be
// transposed.
func (a *HalfArgs) swap() bool {
	if a.N == 1 && a.LDC == 1 && a.Bias == nil && a.Packed == nil && a.fewColumns(1) {
		a.exchange()
		a.LDC = a.N // a column is a row
		return false
	}
	if a.Packed != nil || a.M == 1 || !a.fewColumns(leastTurned) && !a.packsLess() && (a.Batch != [2]int{1, 1} || !a.turnsLess()) {
		return false
	}
	a.exchange()
	return true
}

// exchange makes the product that of the transposes.
func (a *HalfArgs) exchange() {
	a.M, a.N = a.N, a.M
	a.A, a.B = a.B, a.A
	a.LDA, a.LDB = a.LDB, a.LDA
	a.TransA, a.TransB = !a.TransB, !a.TransA
	a.StrideA, a.StrideB = a.StrideB, a.StrideA
}

// leastTurned is the length of sums from which on transposing the result costs less than vectors that are mostly empty.
const leastTurned = 32

// fewColumns reports whether a transposed A is multiplied in pairs with so few columns that most of a vector of them
// would be empty: the rows of A, as they are stored, fill it. Sums have at least so many products.
func (a *HalfArgs) fewColumns(least int) bool {
	const most = 8 // half a vector
	return a.TransA && a.N <= most && a.M >= 4*most && a.K >= least && a.pairs() && !micro.Matrices()
}

// straighten describes a matrix of one column as one row, which is the same memory.
func (a *HalfArgs) straighten() {
	if a.K == 1 && a.TransB && a.LDB == 1 && a.Packed == nil {
		a.TransB, a.LDB = false, a.N
	}
	if a.K == 1 && !a.TransA && a.LDA == 1 && a.M > 1 && !micro.Matrices() {
		a.TransA, a.LDA = true, a.M
	}
}

// packsLess reports whether the product is one of few rows with a transposed matrix that is widened.
func (a *HalfArgs) packsLess() bool {
	return a.TransB && a.N >= transposedMinRows && !a.pairs() && a.M*(a.K+a.N) <= a.K*a.N
}

// turnsLess reports whether more of A is turned than would be of B, for each chunk of columns again if the sums are not
// one block, by more than transposing the result costs.
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
	return a.K*(turns(a.M, a.N)-turns(a.N, a.M)) > transposeCost*a.M*a.N
}

// transposeCost is what transposing an element of C costs, which is float32, where turning one of A costs 1. It was
// estimated, not measured on a processor with matrix registers.
const transposeCost = 4

// turned is the memory for a transposed chunk of C.
func (p *halfPlan) turned() int {
	if !p.swapped {
		return 0
	}
	return p.cols * (p.rows + turnedGap)
}

// store rounds the sums of a chunk, or of some of its rows, from row m and column n on, and stores them in the batch
// entry at an offset. Lines and turned are memory for it.
func (j *halfJob) store(sums, lines, turned []float32, at, m, n, rows, cols int) {
	a, from := &j.args, j.plan.lineC
	if j.plan.swapped {
		follow := rows == a.M && a.LDC == rows && a.Bias == nil // rows of the result follow each other
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

// panels is the memory for the panels of the right operand, where they are made before: of A, if that has become it and
// there is one.
func (p *halfPlan) panels(a *HalfArgs) int {
	if !p.packs && (!p.swapped || p.pairs || a.Batch != [2]int{1, 1}) {
		return 0
	}
	width := micro.PanelWidth[float32]()
	return ceil(a.N, width) * width * a.panelRows()
}
