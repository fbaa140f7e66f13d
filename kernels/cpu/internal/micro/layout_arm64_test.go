package micro

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestCallLayout checks the argument block against the offsets in internal/asmgen/micro.
func TestCallLayout(t *testing.T) {
	var c call
	for i, offset := range []uintptr{unsafe.Offsetof(c.a), unsafe.Offsetof(c.b), unsafe.Offsetof(c.c), unsafe.Offsetof(c.bias),
		unsafe.Offsetof(c.k), unsafe.Offsetof(c.segments), unsafe.Offsetof(c.outer), unsafe.Offsetof(c.aRow), unsafe.Offsetof(c.aK),
		unsafe.Offsetof(c.aSegment), unsafe.Offsetof(c.aOuter), unsafe.Offsetof(c.bK), unsafe.Offsetof(c.bSegment), unsafe.Offsetof(c.bOuter),
		unsafe.Offsetof(c.cRow), unsafe.Offsetof(c.flags)} {
		require.Equal(t, uintptr(8*i), offset)
	}
}
