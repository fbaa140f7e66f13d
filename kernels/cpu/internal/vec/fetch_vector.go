//go:build amd64 || arm64

package vec

import "unsafe"

const lineBytes = 64

// fetch prefetches the lines that the rows begin in and the lines after them.
func fetch(x unsafe.Pointer, rows, bytes, stride int) {
	if wide, ok := vectors(); ok {
		lines := (bytes + lineBytes - 1) / lineBytes
		callFetchRows(wide, (*float32)(x), uintptr(rows), uintptr(lines*lineBytes), uintptr(stride))
	}
}
