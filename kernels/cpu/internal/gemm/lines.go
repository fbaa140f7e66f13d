package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// If the rows of B are whole cache lines and B begins at a cache line, B is read in place for more rows of A than
// usual. A slice of a wider matrix need not begin at one, and where operands are is known only when the product runs.
// So there are two plans, which compute the same sums, and scratch memory for either.

const line = 64 // bytes of a cache line, and of a vector of AVX-512

// spacesLines reports whether all rows of B begin at the same offset in a cache line, and a vector is as long as a
// line.
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

// dependsOnStart reports whether the plan depends on where B begins.
func (a *Args[T]) dependsOnStart() bool {
	return a.M >= packMinRows && a.M < packMoreRows && !a.TransB && !a.Packed && a.Panels == nil && !computesHalves() && a.spacesLines()
}

// straddlesLines reports whether vectors, from the first number on, straddle cache lines.
func straddlesLines[T Float](b []T) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%line != 0
}
