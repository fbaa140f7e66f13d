package vec

import "unsafe"

// Strided copies n elements of 1, 2, 4 or 8 bytes that are stride elements apart, as far as whole vectors go, and
// returns how many it copied. It reads nothing behind the last of the n.
func Strided(dst, src unsafe.Pointer, size, stride, n int) int {
	if stride < 2 || stride > 8 || size > 8 || size < 4 && stride > 4 {
		return 0
	}
	return strided(dst, src, size, stride, n)
}

// Reversed copies n elements of 1, 2, 4 or 8 bytes in reverse order, as far as whole vectors go, and returns how many
// it copied. The last element is at src.
func Reversed(dst, src unsafe.Pointer, size, n int) int {
	if size > 8 {
		return 0
	}
	return reversed(dst, src, size, n)
}

// Apart splits n groups of elements of 1, 2, 4 or 8 bytes. A group has one element for each destination, of which there
// are two to four; destination i gets element i of each group, one after the other. It goes as far as whole vectors do,
// and returns how many groups it stored. It does not read the last behind elements of the last group.
func Apart(destinations []unsafe.Pointer, src unsafe.Pointer, size, behind, n int) int {
	if parts := len(destinations); parts < 2 || parts > 4 || size > 8 {
		return 0
	}
	return apart(destinations, src, size, behind, n)
}

// Turns interleaves elements of 1, 2, 4 or 8 bytes of two to four sources, n of each from number first on, as far as
// whole vectors go. It returns how many of each source it stored.
func Turns(dst unsafe.Pointer, sources []unsafe.Pointer, size, first, n int) int {
	if count := len(sources); count < 2 || count > 4 || size > 8 {
		return 0
	}
	return turns(dst, sources, size, first, n)
}
