package quant

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// codeLanes returns the length of the shortest rows that vectors quantizes.
func codeLanes() int {
	if isa.Active().Has(isa.Vectors256) {
		return tableLanes
	}
	return math.MaxInt
}

// vectors quantizes rows of finite numbers.
func (c *RowCoding) vectors(to []int8, scales, x []float32, n int) {
	limits := codeLimits{c.Numerator, c.Epsilon, c.Low, c.High}
	ts, ss, xs, ls := unsafe.Pointer(&to[0]), unsafe.Pointer(&scales[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&limits)
	rows, width := uintptr(len(scales)), uintptr(n)
	if n >= mostLanes && isa.Active().Has(isa.Vectors512) {
		whole, tail, last := codeSteps(n, mostLanes)
		codeRowsAVX512(ts, ss, xs, ls, rows, whole, 4*width, width, tail, last)
		return
	}
	whole, tail, last := codeSteps(n, tableLanes)
	codeRowsAVX2(ts, ss, xs, ls, rows, whole, 4*width, width, tail, last)
}

//go:noescape
func codeRowsAVX512(to, scales, x, limits unsafe.Pointer, rows, whole, stride, width, tail, last uintptr)

//go:noescape
func codeRowsAVX2(to, scales, x, limits unsafe.Pointer, rows, whole, stride, width, tail, last uintptr)
