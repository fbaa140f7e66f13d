package vec

import "unsafe"

// Copies of so many bytes are made piece by piece. From a megabyte on, copy of Go's runtime for amd64 stores past the
// caches, which takes 1.7 times as long where the memory is in the third-level cache, and whoever reads the result next
// waits for the memory. What is larger than that cache is better off there.
const (
	leastInPieces = 1 << 20
	mostInPieces  = 8 << 20
	copyPiece     = 1 << 18
)

// Copy is copy.
func Copy(dst, src []byte) int {
	n := min(len(dst), len(src))
	if n < leastInPieces || n > mostInPieces || share(dst[:n], src[:n]) {
		return copy(dst, src)
	}
	for at := 0; at < n; at += copyPiece {
		copy(dst[at:min(at+copyPiece, n)], src[at:])
	}
	return n
}

// share reports whether two stretches of memory share bytes; pieces of one would overwrite the next one's source.
func share(a, b []byte) bool {
	at, to := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at < to+uintptr(len(b)) && to < at+uintptr(len(a))
}
