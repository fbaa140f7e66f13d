package memory

import (
	"strings"
	"unsafe"
)

// unsetFrom is the size above which clearing memory takes longer than avoiding it.
const unsetFrom = 64 << 10

// Unset returns n bytes of the heap with arbitrary contents, for buffers that are completely written before they are
// read. A strings.Builder is the only way to memory that Go's allocator does not clear first.
func Unset(n int) []byte {
	if n < unsetFrom {
		return make([]byte, n)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0) // the address of an empty string is nobody's
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
