package quant

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// codeLanes returns the length of the shortest rows that vectors quantizes.
func codeLanes() int {
	if isa.Active().Has(isa.NEON) {
		return tableLanes
	}
	return math.MaxInt
}

// vectors quantizes rows of finite numbers.
func (c *RowCoding) vectors(to []int8, scales, x []float32, n int) {
	limits := codeLimits{c.Numerator, c.Epsilon, c.Low, c.High}
	whole, tail, last := codeSteps(n, tableLanes)
	codeRowsNEON(unsafe.Pointer(&to[0]), unsafe.Pointer(&scales[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&limits), uintptr(len(scales)), whole, uintptr(4*n), uintptr(n), tail, last)
}

//go:noescape
func codeRowsNEON(to, scales, x, limits unsafe.Pointer, rows, whole, stride, width, tail, last uintptr)
