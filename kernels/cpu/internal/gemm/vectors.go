package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/isa"

// A batch of products of a matrix with a vector, c = A·b, would leave all lanes of a vector empty but one: a matrix
// that each edge of a graph applies to the node at its end, or the states of a recurrence that every step reads with
// weights of its own. So they are computed as their transposes, cᵀ = bᵀ·Aᵀ, in which A is the vector operand: a stored
// transpose is read in place, else panels of A are transposed into the first-level cache. A column c is stored like a
// row. Each sum adds the same products in the same order.

const (
	vectorsLeast  = 12 // fewest rows of A that are worth being transposed,
	vectorsSums   = 4  // and their shortest sums;
	vectorsInLine = 2  // or if the transpose is stored
)

// swapVectors turns a batch of products with vectors into that of their transposes.
func (a *Args[T]) swapVectors() {
	if a.N != 1 || a.LDC != 1 || a.Batch == [2]int{1, 1} || a.Bias != nil || a.Packed || a.Panels != nil || a.StrideA == [2]int{} {
		return
	}
	if a.TransA && a.M < vectorsInLine || !a.TransA && (a.M < vectorsLeast || a.K < vectorsSums || !isa.Active().Has(isa.Vectors256)) || !byVectors.Taken() {
		return
	}
	a.M, a.N, a.LDC, a.vectors = 1, a.M, a.M, true
	a.A, a.B = a.B, a.A
	a.LDA, a.LDB = a.LDB, a.LDA
	a.TransA, a.TransB = !a.TransB, !a.TransA
	a.StrideA, a.StrideB = a.StrideB, a.StrideA
}
