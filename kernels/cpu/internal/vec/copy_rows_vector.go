//go:build amd64 || arm64

package vec

import "unsafe"

// copyRows uses vectors of 32 bytes on all AMD64 processors: vectors of 64 bytes are no faster, and slower where they
// straddle cache lines.
func copyRows(dst, src unsafe.Pointer, n, bytes, to, from int) bool {
	if _, ok := vectors(); !ok {
		return false
	}
	for r, most := 0, max(4*callElements/bytes, 1); r < n; r += most {
		callCopyRows(false, unsafe.Add(dst, r*to), unsafe.Add(src, r*from), uintptr(min(most, n-r)), uintptr(bytes), uintptr(to), uintptr(from))
	}
	return true
}
