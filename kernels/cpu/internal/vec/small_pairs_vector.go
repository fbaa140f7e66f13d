//go:build amd64 || arm64

package vec

import "unsafe"

// smallPairs computes the whole vectors among n elements of size bytes, and returns how many elements they have.
func smallPairs(op smallPairOp, size int, dst, a, b unsafe.Pointer, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n = whole(wide, n)
	for i := 0; i < n; i += callElements {
		callSmallPair(wide, op, unsafe.Add(dst, size*i), unsafe.Add(a, size*i), unsafe.Add(b, size*i), uintptr(min(callElements, n-i)))
	}
	return n
}

// powers is smallPairs for powers with exponents of width bits.
func powers(op powerOp, size int, dst, a, b unsafe.Pointer, n, width int) int {
	wide, ok := vectors()
	if n = whole(wide, n); !ok || n == 0 {
		return 0
	}
	callPower(wide, op, dst, a, b, uintptr(n), uintptr(width))
	return n
}
