package vec

import "unsafe"

// Strided copies n elements of 1, 2, 4 or 8 bytes that lie stride elements apart, as far as it can in whole vectors,
// and returns how many it copied. It reads nothing behind the last of the n.
func Strided(dst, src unsafe.Pointer, size, stride, n int) int {
	if stride < 2 || stride > 8 || size > 8 || size < 4 && stride > 4 {
		return 0
	}
	return strided(dst, src, size, stride, n)
}

// Reversed copies n elements of 1, 2, 4 or 8 bytes in the opposite order, the last of which lies at src, as far as it
// can in whole vectors, and returns how many it copied.
func Reversed(dst, src unsafe.Pointer, size, n int) int {
	if size > 8 {
		return 0
	}
	return reversed(dst, src, size, n)
}

// Apart stores the elements of 1, 2, 4 or 8 bytes of n groups, each as many as there are destinations, two to four:
// element i of each group behind those of the groups before, at destination i. It goes as far as it can in whole
// vectors, and returns how many groups it stored. It does not read the last elements of the last group, as many as
// behind says.
func Apart(destinations []unsafe.Pointer, src unsafe.Pointer, size, behind, n int) int {
	if parts := len(destinations); parts < 2 || parts > 4 || size > 8 {
		return 0
	}
	return apart(destinations, src, size, behind, n)
}

// Turns stores the elements of 1, 2, 4 or 8 bytes of two to four sources in turn, n of each from number first on, as
// far as it can in whole vectors, and returns how many of each it stored.
func Turns(dst unsafe.Pointer, sources []unsafe.Pointer, size, first, n int) int {
	if count := len(sources); count < 2 || count > 4 || size > 8 {
		return 0
	}
	return turns(dst, sources, size, first, n)
}
