package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// transpose packs the first columns of a transposed panel, whose columns have unit stride in src and are stepC apart; it returns
// how many.
func transpose[T Float](dst, src []T, rows, cols, stepC int) int {
	if isa.Active() == isa.Portable || unsafe.Sizeof(dst[0]) != 4 || stepC < 0 {
		return 0
	}
	width := PanelWidth[T]()
	blocks := rows / 8
	if blocks == 0 || cols < 8 || (cols-1)*stepC+rows > len(src) || rows*width > len(dst) {
		return 0
	}
	for c := 0; c < cols; c += 8 {
		c = min(c, cols-8) // columns that are packed twice get the same numbers
		callTranspose8(unsafe.Pointer(&dst[c]), unsafe.Pointer(&src[c*stepC]), uintptr(stepC)*4, uintptr(blocks))
		for i := range 8 {
			for k := blocks * 8; k < rows; k++ {
				dst[k*width+c+i] = src[(c+i)*stepC+k]
			}
		}
	}
	runtime.KeepAlive(src)
	return cols
}

// copyPanel packs a panel of whole rows; it reports whether it did.
func copyPanel[T Float](dst, src []T, rows, stepK int) bool {
	width := PanelWidth[T]()
	if isa.Active() == isa.Portable || rows < 1 || stepK < 0 || (rows-1)*stepK+width > len(src) || rows*width > len(dst) {
		return false
	}
	callCopyRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), uintptr(stepK)*unsafe.Sizeof(dst[0]), uintptr(rows))
	runtime.KeepAlive(src)
	return true
}
