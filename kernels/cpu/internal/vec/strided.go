package vec

import "unsafe"

// Strided copies n elements of 4 or 8 bytes that lie stride elements apart, as far as it can in whole vectors, and
// returns how many it copied. It reads nothing behind the last of the n.
func Strided(dst, src unsafe.Pointer, size, stride, n int) int {
	if stride < 2 || stride > 8 || size != 4 && size != 8 {
		return 0
	}
	return strided(dst, src, size, stride, n)
}

// Reversed copies n elements of 4 or 8 bytes in the opposite order, the last of which lies at src, as far as it can in
// whole vectors, and returns how many it copied.
func Reversed(dst, src unsafe.Pointer, size, n int) int {
	if size != 4 && size != 8 {
		return 0
	}
	return reversed(dst, src, size, n)
}

// Turns stores the elements of 4 or 8 bytes of two to four sources in turn, n of each from number first on, as far as
// it can in whole vectors, and returns how many of each it stored.
func Turns(dst unsafe.Pointer, sources []unsafe.Pointer, size, first, n int) int {
	if count := len(sources); count < 2 || count > 4 || size != 4 && (size != 8 || count == 3) {
		return 0
	}
	return turns(dst, sources, size, first, n)
}
