//go:build amd64 || arm64

package vec

import "unsafe"

func place[T any](x []T, i int) unsafe.Pointer {
	var v T
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(x)), uintptr(i)*unsafe.Sizeof(v))
}

// compareWords compares n words of 32 bits.
func compareWords[T any](op compareOp, dst []uint8, a, b []T) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callCompare(wide, op, place(dst, i), place(a, i), place(b, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p, q [16]T
		var r [16]uint8
		copy(p[:], a[n:])
		copy(q[:], b[n:])
		callCompare(wide, op, unsafe.Pointer(&r), unsafe.Pointer(&p), unsafe.Pointer(&q), uintptr(len(p)))
		copy(dst[n:], r[:])
	}
	return true
}

func test32(op testOp, dst []uint8, x []float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callTest(wide, op, place(dst, i), place(x, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p buffer
		var r [16]uint8
		copy(p[:], x[n:])
		callTest(wide, op, unsafe.Pointer(&r), unsafe.Pointer(&p), uintptr(len(p)))
		copy(dst[n:], r[:])
	}
	return true
}

func choose32(dst []uint32, mask []uint8, a, b []uint32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callChoose(wide, place(dst, i), place(mask, i), place(a, i), place(b, i), uintptr(min(callElements, n-i)))
	}
	for i := n; i < len(dst); i++ {
		if mask[i] != 0 {
			dst[i] = a[i]
		} else {
			dst[i] = b[i]
		}
	}
	return true
}

func fromBytes32(dst []float32, x []uint8) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callFromBytes(wide, place(dst, i), place(x, i), uintptr(min(callElements, n-i)))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = float32(x[i])
	}
	return true
}

func integers32(op integerOp, dst, a, b []int32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callInteger(wide, op, place(dst, i), place(a, i), place(b, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p, q [16]int32
		copy(p[:], a[n:])
		copy(q[:], b[n:])
		callInteger(wide, op, unsafe.Pointer(&p), unsafe.Pointer(&p), unsafe.Pointer(&q), uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

func convert32[T, F any](op integerConversionOp, dst []T, x []F) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callIntegerConversion(wide, op, place(dst, i), place(x, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p [16]F
		var q [16]T
		copy(p[:], x[n:])
		callIntegerConversion(wide, op, unsafe.Pointer(&q), unsafe.Pointer(&p), uintptr(len(p)))
		copy(dst[n:], q[:])
	}
	return true
}
