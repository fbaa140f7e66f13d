package vec

import "unsafe"

// LeastCopied is the number of bytes of a row from which on CopyRows may copy it.
const LeastCopied = 64

// CopyRows copies n rows of LeastCopied bytes or more, which lie to bytes apart, from rows that lie from bytes apart
// and do not overlap them. It reports whether there is a kernel that did.
func CopyRows(dst, src unsafe.Pointer, n, bytes, to, from int) bool {
	return copyRows(dst, src, n, bytes, to, from)
}
