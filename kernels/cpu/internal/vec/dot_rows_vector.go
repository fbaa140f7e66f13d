//go:build amd64 || arm64

package vec

import "unsafe"

// dotRowKernels multiply a row by four others, by two or by one, of both sizes of floats.
var dotRowKernels = [2][3]func(wide bool, dst, x, y unsafe.Pointer, n, stride uintptr){
	{callDotRows4, callDotRows2, callDotRows1},
	{callDotRows4Doubles, callDotRows2Doubles, callDotRows1Doubles},
}

func dotRowVectors(dst, x, y unsafe.Pointer, size, rows, cols, stride int) bool {
	wide, ok := vectors()
	if !ok || cols > callElements {
		return false
	}
	for kernel, at := 0, 0; at < rows; kernel++ {
		for count := 4 >> kernel; at+count <= rows; at += count {
			dotRowKernels[size/8][kernel](wide, unsafe.Add(dst, size*at), x, unsafe.Add(y, size*at*stride), uintptr(size*cols), uintptr(size*stride))
		}
	}
	return true
}
