//go:build amd64 || arm64

package vec

import (
	"math"
	"unsafe"
)

// double2 runs a chain of one operation on whole vectors and returns how many elements it computed.
func double2(op ChainOp, dst, a, b unsafe.Pointer, n int) int {
	wide, ok := vectors()
	if n &^= 7; !ok {
		return 0
	}
	for i := 0; i < n; i += callElements {
		steps := [3]ChainStep{{Op: ChainLoad, X: unsafe.Add(a, 8*i)}, {Op: op, X: b}, {Op: ChainStore, X: unsafe.Add(dst, 8*i)}}
		if x, _ := op.elements(); x != 0 {
			steps[1].X = unsafe.Add(b, 8*i)
		}
		callChain64(wide, unsafe.Pointer(&steps), 3, uintptr(min(callElements, n-i)))
	}
	return n
}

// bytes64 computes the bytes of a step of a chain for whole vectors; it returns how many elements it computed.
func bytes64(op ChainOp, dst []uint8, a, b []float64) int {
	wide, ok := vectors()
	n := len(dst) &^ 7
	if !ok {
		return 0
	}
	for i := 0; i < n; i += callElements {
		steps := [2]ChainStep{{Op: ChainLoad, X: unsafe.Pointer(&a[i])}, {Op: op, X: unsafe.Pointer(&b[i]), Y: unsafe.Pointer(&dst[i])}}
		callChain64(wide, unsafe.Pointer(&steps), 2, uintptr(min(callElements, n-i)))
	}
	return n
}

// choose64 is ChooseWords of whole vectors; it returns how many elements it computed.
func choose64(dst []uint64, where []uint8, a, b []uint64) int {
	wide, ok := vectors()
	n := len(dst) &^ 7
	if !ok {
		return 0
	}
	for i := 0; i < n; i += callElements {
		steps := [3]ChainStep{{Op: ChainLoad, X: unsafe.Pointer(&a[i])}, {Op: ChainChoose, X: unsafe.Pointer(&b[i]), Y: unsafe.Pointer(&where[i])},
			{Op: ChainStore, X: unsafe.Pointer(&dst[i])}}
		callChain64(wide, unsafe.Pointer(&steps), 3, uintptr(min(callElements, n-i)))
	}
	return n
}

// lanes64 adds the first elements of x to eight sums. It returns their number, a multiple of 8.
func lanes64(sums *[8]float64, x []float64) int {
	wide, ok := vectors()
	n := len(x) &^ 7
	if !ok || n == 0 {
		return 0
	}
	callAddLanes64(wide, unsafe.Pointer(sums), unsafe.Pointer(unsafe.SliceData(x)), uintptr(n))
	return n
}

// products64 adds the products of the first elements of x and y to eight sums. It returns their number, a multiple of
// 8.
func products64(sums *[8]float64, x, y []float64) int {
	wide, ok := vectors()
	n := len(x) &^ 7
	if !ok || n == 0 {
		return 0
	}
	callAddProducts64(wide, unsafe.Pointer(sums), unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(unsafe.SliceData(y)), uintptr(n))
	return n
}

// expAffine64 is ExpAffine for the first elements, added to eight sums. It returns their number, a multiple of 8.
func expAffine64(sums *[8]float64, dst, x []float64, scalars [3]float64) int {
	wide, ok := vectors()
	n := len(dst) &^ 7
	if !ok || n == 0 {
		return 0
	}
	callExpAffineDoubles(wide, unsafe.Pointer(sums), unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)), uintptr(n), unsafe.Pointer(&scalars))
	return n
}

// extreme64 returns the largest or smallest of the first n elements, a multiple of 8.
func extreme64(largest bool, x []float64) (m float64, n int) {
	m = math.Inf(1)
	if largest {
		m = math.Inf(-1)
	}
	wide, ok := vectors()
	if n = len(x) &^ 7; !ok {
		return m, 0
	}
	for i := 0; i < n; i += callElements {
		p, count := unsafe.Pointer(&x[i]), uintptr(min(callElements, n-i))
		if largest {
			if v := callLargest64(wide, p, count); v > m || v != v {
				m = v
			}
		} else if v := callSmallest64(wide, p, count); v < m || v != v {
			m = v
		}
	}
	return m, n
}
