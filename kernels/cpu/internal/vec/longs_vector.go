//go:build amd64 || arm64

package vec

import "unsafe"

// compare64 compares as many elements as make whole vectors, and returns their number.
func compare64(op compare64Op, dst []uint8, a, b []float64) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(dst) &^ 7
	for i := 0; i < n; i += callElements {
		callCompare64(wide, op, unsafe.Pointer(&dst[i]), unsafe.Pointer(&a[i]), unsafe.Pointer(&b[i]), uintptr(min(callElements, n-i)))
	}
	return n
}

// convert64 is compare64 for conversions of elements of some bytes to others.
func convert64(op convert64Op, dst, x unsafe.Pointer, to, from, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n &^= 7
	for i := 0; i < n; i += callElements {
		callConvert64(wide, op, unsafe.Add(dst, to*i), unsafe.Add(x, from*i), uintptr(min(callElements, n-i)))
	}
	return n
}

// orderLongs orders as many pairs as make whole vectors, and returns their number.
func orderLongs(x, y []int64) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(x) &^ 7
	for i := 0; i < n; i += callElements {
		callOrderLongs(wide, unsafe.Pointer(&x[i]), unsafe.Pointer(&y[i]), uintptr(min(callElements, n-i)))
	}
	return n
}
