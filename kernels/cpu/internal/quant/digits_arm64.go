package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// lanes returns the fewest numbers that are split at a time.
func (f family) lanes() int {
	if isa.Active().Has(isa.NEON) {
		return mostLanes / 2
	}
	return group
}

// largest returns the largest absolute value in x, as bits.
func (f family) largest(x []float32) uint32 {
	whole := len(x) / f.lanes() * f.lanes()
	if !isa.Active().Has(isa.NEON) || whole == 0 {
		return largestGo(x)
	}
	var top [mostLanes / 2]uint32
	largestNEON(unsafe.Pointer(&top), unsafe.Pointer(&x[0]), uintptr(whole))
	return largestOf(top[:], x[whole:])
}

// split writes the digits of x, which is whole vectors, and adds them to sums.
func (f family) split(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	if !isa.Active().Has(isa.NEON) {
		splitGo(to, plane, x, how, sums)
		return
	}
	_, _ = to[(digits-1)*plane+len(x)-1], x[0]
	var vectors digitVectors
	splitNEON(unsafe.Pointer(&to[0]), uintptr(plane), unsafe.Pointer(&x[0]), unsafe.Pointer(&vectors), unsafe.Pointer(how), uintptr(len(x)))
	vectors.add(sums, f.lanes(), len(x))
}

//go:noescape
func largestNEON(to, x unsafe.Pointer, n uintptr)

//go:noescape
func splitNEON(to unsafe.Pointer, plane uintptr, x, sums, how unsafe.Pointer, n uintptr)
