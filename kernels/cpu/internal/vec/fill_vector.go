//go:build amd64 || arm64

package vec

import "unsafe"

func fillRows32(dst []uint32, src unsafe.Pointer, rows, n, step int) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	for r, most := 0, max(callElements/n, 1); r < rows; r += most {
		callFillRows(wide, unsafe.Pointer(&dst[r*n]), unsafe.Add(src, r*step), uintptr(min(most, rows-r)), uintptr(4*n), uintptr(step))
	}
	return true
}
