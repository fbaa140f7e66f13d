package vec

import "unsafe"

// LeastCopied is the fewest bytes of a row that CopyRows can copy.
const LeastCopied = 64

// CopyRows copies n rows of at least LeastCopied bytes, which are to bytes apart, from rows that are from bytes apart
// and do not overlap them. It returns false if there is no kernel for that.
func CopyRows(dst, src unsafe.Pointer, n, bytes, to, from int) bool {
	return copyRows(dst, src, n, bytes, to, from)
}
