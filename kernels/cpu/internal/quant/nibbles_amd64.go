package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// nibbleRows is the number of rows that the next kernel takes where n are left.
func (f family) nibbleRows(n int) int {
	if f == familyVNNI || f == familyAMX {
		return min(n, 2)
	}
	return 1
}

// nibbles sets the sums of n rows of digits times a block of a panel.
func (f family) nibbles(n int, sums []int32, x []byte, ldx int, w []byte, groups int) {
	_, _, _ = sums[n*digits*Width-1], x[(n-1)*ldx+groups*digitBytes-1], w[groups*group*halfWidth-1]
	ss, xs, ws := unsafe.Pointer(&sums[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0])
	switch {
	case f == familyGo:
		nibblesGo(sums, x, w, groups)
	case f == familyAVX2:
		nibbles1AVX2(ss, xs, ws, uintptr(groups))
	case n == 2:
		nibbles2VNNI(ss, xs, ws, uintptr(groups), uintptr(ldx))
	default:
		nibbles1VNNI(ss, xs, ws, uintptr(groups), uintptr(ldx))
	}
}

// combine adds what the sums of a block stand for to y.
func (f family) combine(y []float32, sums []int32, zero []int8, scale []float32, h *head) {
	_, _, _, _ = y[Width-1], sums[digits*Width-1], zero[Width-1], scale[Width-1]
	ys, ss, zs, by := unsafe.Pointer(&y[0]), unsafe.Pointer(&sums[0]), unsafe.Pointer(&zero[0]), unsafe.Pointer(&scale[0])
	switch {
	case f == familyGo:
		combineGo(y, sums, zero, scale, h)
	case isa.Active().Has(isa.Vectors512):
		combineAVX512(ys, ss, zs, by, unsafe.Pointer(&h.sums), unsafe.Pointer(&h.factor))
	default:
		combineAVX2(ys, ss, zs, by, unsafe.Pointer(&h.sums), unsafe.Pointer(&h.factor))
	}
}

//go:noescape
func nibbles1VNNI(sums, x, w unsafe.Pointer, groups, ldx uintptr)

//go:noescape
func nibbles2VNNI(sums, x, w unsafe.Pointer, groups, ldx uintptr)

//go:noescape
func nibbles1AVX2(sums, x, w unsafe.Pointer, groups uintptr)

//go:noescape
func combineAVX512(y, sums, zero, scale, digits, factor unsafe.Pointer)

//go:noescape
func combineAVX2(y, sums, zero, scale, digits, factor unsafe.Pointer)
