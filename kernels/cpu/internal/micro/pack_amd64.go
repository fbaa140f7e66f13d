package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// transpose stores dst[k·to + c] = src[c·from + k] for k in [0, rows) and the first columns c. It returns how many.
func transpose[T Float](dst, src []T, rows, cols, to, from int) int {
	size := int(unsafe.Sizeof(dst[0]))
	edge := 32 / size // of the square blocks
	if !isa.Active().Has(isa.Vectors256) || from < 0 || to < cols {
		return 0
	}
	blocks := rows / edge
	if blocks == 0 || cols < edge || (cols-1)*from+rows > len(src) || (rows-1)*to+cols > len(dst) {
		return 0
	}
	for c := 0; c < cols; c += edge {
		c = min(c, cols-edge) // columns that are moved twice get the same numbers
		callTranspose(size, unsafe.Pointer(&dst[c]), unsafe.Pointer(&src[c*from]), uintptr(to*size), uintptr(from*size), uintptr(blocks))
		if last := rows - edge; last%edge != 0 { // so do rows
			callTranspose(size, unsafe.Pointer(&dst[last*to+c]), unsafe.Pointer(&src[c*from+last]), uintptr(to*size), uintptr(from*size), 1)
		}
	}
	runtime.KeepAlive(src)
	return cols
}

func transposeShort[T Float](dst, src []T, rows, cols, to, from int) int {
	size := int(unsafe.Sizeof(dst[0]))
	edge := 32 / size
	if !isa.Active().Has(isa.Vectors256) || rows > edge || len(dst) < edge || (edge-1)*from+cols > len(src) {
		return 0
	}
	blocks := min(cols, (len(dst)-edge)/to+1) / edge
	if blocks > 0 {
		callTranspose(size, unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), uintptr(to*size), uintptr(from*size), uintptr(blocks))
		runtime.KeepAlive(src)
	}
	return blocks * edge
}

// callTranspose transposes blocks of elements of 4 or 8 bytes. (If it were a function value, memory on the caller's
// stack would escape to the heap.)
func callTranspose(size int, dst, src unsafe.Pointer, to, from, blocks uintptr) {
	if size == 8 {
		callTranspose4(dst, src, to, from, blocks)
		return
	}
	callTranspose8(dst, src, to, from, blocks)
}

// copyPanel packs a panel of whole rows and returns true, or returns false if it cannot.
func copyPanel[T Float](dst, src []T, rows, stepK int) bool {
	width := PanelWidth[T]()
	if !isa.Active().Has(isa.Vectors256) || rows < 1 || stepK < 0 || (rows-1)*stepK+width > len(src) || rows*width > len(dst) {
		return false
	}
	callCopyRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), uintptr(stepK)*unsafe.Sizeof(dst[0]), uintptr(rows))
	runtime.KeepAlive(src)
	return true
}
