package rows

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// NoNaN reports whether floats of 4 or 8 bytes certainly have no NaN among them: their sum is none. It is false also
// where infinities of both signs meet, and for memory that does not begin at a multiple of the size.
func NoNaN(raw []byte, size int) bool {
	n := len(raw) / size
	if n == 0 {
		return true
	}
	first := unsafe.Pointer(unsafe.SliceData(raw))
	switch {
	case uintptr(first)%uintptr(size) != 0:
		return false
	case size == 4:
		sum := vec.Sum(unsafe.Slice((*float32)(first), n))
		return sum == sum
	default:
		sum := vec.Sum(unsafe.Slice((*float64)(first), n))
		return sum == sum
	}
}
