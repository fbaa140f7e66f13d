package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// A B whose rows are whole cache lines is read where it lies by more rows of A than another one, if it begins with a
// line too. A slice of a wider matrix need not, and where operands lie is known when the product runs only: there are
// two plans then, which compute the same sums, and scratch memory for either.

const line = 64 // bytes of a cache line, and of a vector of AVX-512

// spacesLines reports whether all rows of B begin at the same place of a cache line, and a vector is one.
func (a *Args[T]) spacesLines() bool {
	size := int(sizeOf[T]())
	if !isa.Active().Has(isa.Vectors512) || a.LDB*size%line != 0 {
		return false
	}
	for i, n := range a.Batch {
		if n > 1 && a.StrideB[i]*size%line != 0 {
			return false
		}
	}
	return true
}

// asksBegin reports whether the plan depends on where B begins.
func (a *Args[T]) asksBegin() bool {
	return a.M >= packMinRows && a.M < packMoreRows && !a.TransB && !a.Packed && a.Panels == nil && !computesHalves() && a.spacesLines()
}

// beginsAcross reports whether vectors from the first number on lie across cache lines.
func beginsAcross[T Float](b []T) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%line != 0 }
