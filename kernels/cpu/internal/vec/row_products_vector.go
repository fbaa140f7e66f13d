//go:build amd64 || arm64

package vec

import "unsafe"

// productKernels work on eight vectors of a row, four, two or one, of both sizes of floats.
var productKernels = [2][4]func(wide bool, dst, f, x unsafe.Pointer, rows, depth, dstStride, fStride, xStride uintptr){
	{callAddProducts8, callAddProducts4, callAddProducts2, callAddProducts1},
	{callAddProducts8Doubles, callAddProducts4Doubles, callAddProducts2Doubles, callAddProducts1Doubles},
}

func productVectors(dst, f, x unsafe.Pointer, size, rows, depth, cols, dstStride, fStride, xStride int) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	vector := vectorBytes(wide)
	for kernel, at, end := 0, 0, cols*size; at < end; kernel++ {
		for width := vector << 3 >> kernel; at+width <= end; at += width {
			block := max(callElements*size/(depth*width), 1)
			for r := 0; r < rows; r += block {
				productKernels[size/8][kernel](wide, unsafe.Add(dst, size*r*dstStride+at), unsafe.Add(f, size*r*fStride), unsafe.Add(x, at),
					uintptr(min(block, rows-r)), uintptr(depth), uintptr(size*dstStride), uintptr(size*fStride), uintptr(size*xStride))
			}
		}
	}
	return true
}
