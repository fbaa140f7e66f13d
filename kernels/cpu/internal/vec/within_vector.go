//go:build amd64 || arm64

package vec

import "unsafe"

// withinGroup is how many numbers the kernel takes at a time.
const withinGroup = 16

// withinSigns returns the signs of whole groups of numbers, and the numbers that are left.
func withinSigns(x []int32, last int32) (rest []int32, signs int32) {
	wide, ok := vectors()
	if !ok {
		return x, 0
	}
	for len(x) >= withinGroup {
		n := min(len(x)&^(withinGroup-1), callElements)
		var found [withinGroup]int32
		callWithin(wide, unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(&last), unsafe.Pointer(&found), uintptr(n))
		for _, s := range found {
			signs |= s
		}
		x = x[n:]
	}
	return x, signs
}
