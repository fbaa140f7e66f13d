package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product of few rows with a transposed matrix is computed as its transpose, as that of float32 is (transposed.go):
// B, the weights, is widened along its rows, and only A, which is packed before, and the chunks of C are transposed.
// The sums are the same.

const turnedGap = 16 // between the rows of a transposed chunk, so that they do not compete for places in the cache

// swap exchanges the operands where computing the transpose costs less, and reports whether it did.
func (a *HalfArgs) swap() bool {
	if !a.TransB || a.Packed != nil || a.M == 1 || a.Batch != [2]int{1, 1} || a.N < transposedMinRows || a.Type == vec.BFloat16 && micro.Pairs() {
		return false
	}
	if a.M*(a.K+a.N) > a.K*a.N {
		return false
	}
	a.M, a.N = a.N, a.M
	a.A, a.B = a.B, a.A
	a.LDA, a.LDB = a.LDB, a.LDA
	a.TransA, a.TransB = false, !a.TransA
	a.StrideA, a.StrideB = a.StrideB, a.StrideA
	return true
}

// turned is the memory for a transposed chunk of C.
func (p *halfPlan) turned() int {
	if !p.swapped {
		return 0
	}
	return p.cols * (p.rows + turnedGap)
}

// panels is the memory for the panels of the right operand, where they are made before: of A, if that has become it.
func (p *halfPlan) panels(a *HalfArgs) int {
	if !p.swapped && !p.packs {
		return 0
	}
	width := micro.PanelWidth[float32]()
	return ceil(a.N, width) * width * p.k
}
