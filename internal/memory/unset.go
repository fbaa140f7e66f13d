package memory

import (
	"strings"
	"unsafe"
)

// unsetFrom is the size from which on clearing memory takes longer than the detour around it.
const unsetFrom = 64 << 10

// Unset returns n bytes of the heap that hold anything, for what is written whole before it is read. The builder of
// strings is the one way to memory that Go's allocator does not clear first.
func Unset(n int) []byte {
	if n < unsetFrom {
		return make([]byte, n)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0) // the address of an empty string is nobody's
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
