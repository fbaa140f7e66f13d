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
		unsafe.Offsetof(c.cRow), unsafe.Offsetof(c.tiles), unsafe.Offsetof(c.aTile), unsafe.Offsetof(c.cTile), unsafe.Offsetof(c.mask),
		unsafe.Offsetof(c.maskTable), unsafe.Offsetof(c.flags),
		unsafe.Offsetof(c.lines), unsafe.Offsetof(c.aLine), unsafe.Offsetof(c.cLine), unsafe.Offsetof(c.next), unsafe.Offsetof(c.nextStep),
		unsafe.Offsetof(c.nextEvery), unsafe.Offsetof(c.pair), unsafe.Offsetof(c.bLine), unsafe.Offsetof(c.biasLine),
		unsafe.Offsetof(c.roundedBias)} {
		require.Equal(t, uintptr(8*i), offset)
	}
}

// TestSlideCallLayout does the same for the argument block of slides.
func TestSlideCallLayout(t *testing.T) {
	var c slideCall
	for i, offset := range []uintptr{unsafe.Offsetof(c.a), unsafe.Offsetof(c.b), unsafe.Offsetof(c.c), unsafe.Offsetof(c.bias), unsafe.Offsetof(c.step),
		unsafe.Offsetof(c.tiles), unsafe.Offsetof(c.aTile), unsafe.Offsetof(c.lines), unsafe.Offsetof(c.aLine), unsafe.Offsetof(c.bLine),
		unsafe.Offsetof(c.cLine), unsafe.Offsetof(c.segments), unsafe.Offsetof(c.aSegment), unsafe.Offsetof(c.bSegment), unsafe.Offsetof(c.last),
		unsafe.Offsetof(c.tail), unsafe.Offsetof(c.mask), unsafe.Offsetof(c.flags), unsafe.Offsetof(c.groups), unsafe.Offsetof(c.pixels),
		unsafe.Offsetof(c.bStep), unsafe.Offsetof(c.cStep), unsafe.Offsetof(c.cTile), unsafe.Offsetof(c.parts), unsafe.Offsetof(c.aPart), unsafe.Offsetof(c.bPart)} {
		require.Equal(t, uintptr(8*i), offset)
	}
}
