//go:build amd64 || arm64

package vec

import "unsafe"

// unary64 computes a function of all elements, those that fill no vector in a buffer.
func unary64(op unary64Op, dst, x []float64) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := len(dst) &^ 7
	for i := 0; i < n; i += functionElements {
		callUnary64(wide, op, unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), uintptr(min(functionElements, n-i)))
	}
	if n < len(dst) {
		var p [8]float64
		copy(p[:], x[n:len(dst)])
		callUnary64(wide, op, unsafe.Pointer(&p), unsafe.Pointer(&p), uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

// binary64 is unary64 for two operands.
func binary64(op binary64Op, dst, a, b []float64) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := len(dst) &^ 7
	for i := 0; i < n; i += functionElements {
		callBinary64(wide, op, unsafe.Pointer(&dst[i]), unsafe.Pointer(&a[i]), unsafe.Pointer(&b[i]), uintptr(min(functionElements, n-i)))
	}
	if n < len(dst) {
		var p, q [8]float64
		copy(p[:], a[n:len(dst)])
		copy(q[:], b[n:len(dst)])
		callBinary64(wide, op, unsafe.Pointer(&p), unsafe.Pointer(&p), unsafe.Pointer(&q), uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

// functionElements is [callElements] for float64 functions, which take longer.
const functionElements = callElements / 4
