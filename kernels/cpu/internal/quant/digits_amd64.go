package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// lanes returns the fewest numbers that are split at a time.
func (f family) lanes() int {
	switch {
	case f == familyGo:
		return group
	case isa.Active().Has(isa.Vectors512):
		return mostLanes
	}
	return mostLanes / 2
}

// largest returns the largest absolute value in x, as bits.
func (f family) largest(x []float32) uint32 {
	lanes := f.lanes()
	whole := len(x) / lanes * lanes
	if f == familyGo || whole == 0 {
		return largestGo(x)
	}
	var top [mostLanes]uint32
	if lanes == mostLanes {
		largestAVX512(unsafe.Pointer(&top), unsafe.Pointer(&x[0]), uintptr(whole))
	} else {
		largestAVX2(unsafe.Pointer(&top), unsafe.Pointer(&x[0]), uintptr(whole))
	}
	return largestOf(top[:], x[whole:])
}

// split writes the digits of x, which is whole vectors, and adds them to sums.
func (f family) split(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	if f == familyGo {
		splitGo(to, plane, x, how, sums)
		return
	}
	_, _ = to[(digits-1)*plane+len(x)-1], x[0]
	var vectors digitVectors
	ts, xs, vs, factor, n := unsafe.Pointer(&to[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&vectors), unsafe.Pointer(how), uintptr(len(x))
	if f.lanes() == mostLanes {
		splitAVX512(ts, uintptr(plane), xs, vs, factor, n)
	} else {
		splitAVX2(ts, uintptr(plane), xs, vs, factor, n)
	}
	vectors.add(sums, f.lanes(), len(x))
}

//go:noescape
func largestAVX512(to, x unsafe.Pointer, n uintptr)

//go:noescape
func largestAVX2(to, x unsafe.Pointer, n uintptr)

//go:noescape
func splitAVX512(to unsafe.Pointer, plane uintptr, x, sums, how unsafe.Pointer, n uintptr)

//go:noescape
func splitAVX2(to unsafe.Pointer, plane uintptr, x, sums, how unsafe.Pointer, n uintptr)
