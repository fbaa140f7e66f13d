package micro

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestGroupedCallLayout checks the argument blocks against the offsets in internal/asmgen/micro.
func TestGroupedCallLayout(t *testing.T) {
	var c groupedCall
	for i, offset := range []uintptr{unsafe.Offsetof(c.a), unsafe.Offsetof(c.b), unsafe.Offsetof(c.c), unsafe.Offsetof(c.bias), unsafe.Offsetof(c.indices),
		unsafe.Offsetof(c.inputs), unsafe.Offsetof(c.aRow), unsafe.Offsetof(c.bK), unsafe.Offsetof(c.cRow), unsafe.Offsetof(c.segments),
		unsafe.Offsetof(c.aSegment), unsafe.Offsetof(c.bSegment), unsafe.Offsetof(c.outer), unsafe.Offsetof(c.aOuter), unsafe.Offsetof(c.bOuter),
		unsafe.Offsetof(c.tiles), unsafe.Offsetof(c.aTile), unsafe.Offsetof(c.cTile), unsafe.Offsetof(c.lines), unsafe.Offsetof(c.aLine),
		unsafe.Offsetof(c.cLine), unsafe.Offsetof(c.flags), unsafe.Offsetof(c.vectors), unsafe.Offsetof(c.bVector)} {
		require.Equal(t, uintptr(8*i), offset)
	}
	var s groupedSumsCall
	for i, offset := range []uintptr{unsafe.Offsetof(s.a), unsafe.Offsetof(s.b), unsafe.Offsetof(s.c), unsafe.Offsetof(s.indices), unsafe.Offsetof(s.pixels),
		unsafe.Offsetof(s.aPixel), unsafe.Offsetof(s.bPixel), unsafe.Offsetof(s.lines), unsafe.Offsetof(s.aLine), unsafe.Offsetof(s.bLine),
		unsafe.Offsetof(s.cTap), unsafe.Offsetof(s.cInput), unsafe.Offsetof(s.flags), unsafe.Offsetof(s.vectors)} {
		require.Equal(t, uintptr(8*i), offset)
	}
}
