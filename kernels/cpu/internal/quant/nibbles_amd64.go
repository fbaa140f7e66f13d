package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// nibbleRows returns how many rows the next kernel takes if n are left.
func (f family) nibbleRows(n int) int {
	if f == familyVNNI || f == familyAMX {
		return min(n, 2)
	}
	return 1
}

// nibbles computes the sums of n rows of digits times a block of a panel.
func (f family) nibbles(n int, sums []int32, x []byte, plane int, w []byte, groups int) {
	_, _, _ = sums[n*digits*Width-1], x[(n*digits-1)*plane+groups*group-1], w[groups*group*halfWidth-1]
	ss, xs, ws := unsafe.Pointer(&sums[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0])
	switch {
	case f == familyGo:
		nibblesGo(sums, x, plane, w, groups)
	case f == familyAVX2:
		nibbles1AVX2(ss, xs, ws, uintptr(groups), uintptr(plane))
	case n == 2:
		nibbles2VNNI(ss, xs, ws, uintptr(groups), uintptr(plane))
	default:
		nibbles1VNNI(ss, xs, ws, uintptr(groups), uintptr(plane))
	}
}

// combine turns the sums of a block into numbers and adds them to y.
func (f family) combine(y []float32, sums []int32, zero []int8, scale []float32, x *digitSums, how joining) {
	_, _, _, _ = y[Width-1], sums[digits*Width-1], zero[Width-1], scale[Width-1]
	ys, ss, zs, by := unsafe.Pointer(&y[0]), unsafe.Pointer(&sums[0]), unsafe.Pointer(&zero[0]), unsafe.Pointer(&scale[0])
	switch {
	case f == familyGo:
		combineGo(y, sums, zero, scale, x, how)
	case isa.Active().Has(isa.Vectors512):
		combineAVX512(ys, ss, zs, by, unsafe.Pointer(x), unsafe.Pointer(&how))
	default:
		combineAVX2(ys, ss, zs, by, unsafe.Pointer(x), unsafe.Pointer(&how))
	}
}

// unpack writes groups of rows of a panel of float32.
func (f family) unpack(dst []float32, w []byte, scale []float32, zero []int8, how *unpacking, groups, step int) {
	if f == familyGo {
		unpackGo(dst, w, scale, zero, how, step)
		return
	}
	_, _, _, _ = dst[groups*group*floatWidth-1], w[(groups-1)*step+group*floatWidth-1], scale[floatWidth-1], zero[floatWidth-1]
	to, ws, by, zs := unsafe.Pointer(&dst[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&scale[0]), unsafe.Pointer(&zero[0])
	switch {
	case how.mask == 15 && isa.Active().Has(isa.Vectors512):
		unpackNibblesAVX512(to, ws, by, zs, unsafe.Pointer(how), uintptr(groups), uintptr(step))
	case isa.Active().Has(isa.Vectors512):
		unpackAVX512(to, ws, by, zs, unsafe.Pointer(how), uintptr(groups), uintptr(step))
	default:
		unpackAVX2(to, ws, by, zs, unsafe.Pointer(how), uintptr(groups), uintptr(step))
	}
}

//go:noescape
func unpackNibblesAVX512(dst, w, scale, zero, how unsafe.Pointer, groups, step uintptr)

//go:noescape
func unpackAVX512(dst, w, scale, zero, how unsafe.Pointer, groups, step uintptr)

//go:noescape
func unpackAVX2(dst, w, scale, zero, how unsafe.Pointer, groups, step uintptr)

//go:noescape
func nibbles1VNNI(sums, x, w unsafe.Pointer, groups, plane uintptr)

//go:noescape
func nibbles2VNNI(sums, x, w unsafe.Pointer, groups, plane uintptr)

//go:noescape
func nibbles1AVX2(sums, x, w unsafe.Pointer, groups, plane uintptr)

//go:noescape
func combineAVX512(y, sums, zero, scale, digits, how unsafe.Pointer)

//go:noescape
func combineAVX2(y, sums, zero, scale, digits, how unsafe.Pointer)
