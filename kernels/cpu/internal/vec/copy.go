package vec

import "unsafe"

// Copies of such sizes are made in pieces. From a megabyte on, the copy of Go's runtime for amd64 bypasses the caches.
// That takes 1.7 times as long if the memory is in the third-level cache, and the next reader of the result waits for
// memory. For data larger than that cache, bypassing is better.
const (
	leastInPieces = 1 << 20
	mostInPieces  = 8 << 20
	copyPiece     = 1 << 18
)

// Copy is copy, in pieces where that keeps data in the caches.
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

// share reports whether two pieces of memory overlap; copying one piece would then overwrite the source of the next.
func share(a, b []byte) bool {
	at, to := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at < to+uintptr(len(b)) && to < at+uintptr(len(a))
}
