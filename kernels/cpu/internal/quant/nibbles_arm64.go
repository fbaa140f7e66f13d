package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// nibbleRows returns how many rows the next kernel takes if n are left.
func (f family) nibbleRows(n int) int {
	if f == familyDots {
		return min(n, 2)
	}
	return 1
}

// nibbles computes the sums of n rows of digits times a block of a panel.
func (f family) nibbles(n int, sums []int32, x []byte, plane int, w []byte, groups int) {
	if f == familyGo {
		nibblesGo(sums, x, plane, w, groups)
		return
	}
	_, _, _ = sums[n*digits*Width-1], x[(n*digits-1)*plane+groups*group-1], w[groups*group*halfWidth-1]
	callNibbles(n, unsafe.Pointer(&sums[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0]), uintptr(groups), uintptr(plane))
}

// callNibbles must be neither inlined nor a leaf, like callDots.
//
//go:noinline
func callNibbles(n int, sums, x, w unsafe.Pointer, groups, plane uintptr) {
	if n == 2 {
		nibbles2Dots(sums, x, w, groups, plane)
	} else {
		nibbles1Dots(sums, x, w, groups, plane)
	}
}

// combine turns the sums of a block into numbers and adds them to y.
func (f family) combine(y []float32, sums []int32, zero []int8, scale []float32, x *digitSums, how joining) {
	if !isa.Active().Has(isa.NEON) {
		combineGo(y, sums, zero, scale, x, how)
		return
	}
	_, _, _, _ = y[Width-1], sums[digits*Width-1], zero[Width-1], scale[Width-1]
	combineNEON(unsafe.Pointer(&y[0]), unsafe.Pointer(&sums[0]), unsafe.Pointer(&zero[0]), unsafe.Pointer(&scale[0]), unsafe.Pointer(x), unsafe.Pointer(&how))
}

// unpack writes groups of rows of a panel of float32.
func (f family) unpack(dst []float32, w []byte, scale []float32, zero []int8, how *unpacking, groups, step int) {
	if !isa.Active().Has(isa.NEON) {
		unpackGo(dst, w, scale, zero, how, step)
		return
	}
	_, _, _, _ = dst[groups*group*floatWidth-1], w[(groups-1)*step+group*floatWidth-1], scale[floatWidth-1], zero[floatWidth-1]
	unpackNEON(unsafe.Pointer(&dst[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&scale[0]), unsafe.Pointer(&zero[0]), unsafe.Pointer(how), uintptr(groups), uintptr(step))
}

//go:noescape
func unpackNEON(dst, w, scale, zero, how unsafe.Pointer, groups, step uintptr)

//go:noescape
func nibbles1Dots(sums, x, w unsafe.Pointer, groups, plane uintptr)

//go:noescape
func nibbles2Dots(sums, x, w unsafe.Pointer, groups, plane uintptr)

//go:noescape
func combineNEON(y, sums, zero, scale, digits, how unsafe.Pointer)
