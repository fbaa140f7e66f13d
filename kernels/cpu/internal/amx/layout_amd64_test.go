package amx

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestCallLayout checks the argument block against the offsets in internal/asmgen/amx.
func TestCallLayout(t *testing.T) {
	var c call
	for i, offset := range []uintptr{unsafe.Offsetof(c.a), unsafe.Offsetof(c.b), unsafe.Offsetof(c.c), unsafe.Offsetof(c.config), unsafe.Offsetof(c.steps),
		unsafe.Offsetof(c.segments), unsafe.Offsetof(c.outer), unsafe.Offsetof(c.aRow), unsafe.Offsetof(c.aStep), unsafe.Offsetof(c.aSegment),
		unsafe.Offsetof(c.aOuter), unsafe.Offsetof(c.bRow), unsafe.Offsetof(c.bStep), unsafe.Offsetof(c.bSegment), unsafe.Offsetof(c.bOuter),
		unsafe.Offsetof(c.cRow), unsafe.Offsetof(c.blocks), unsafe.Offsetof(c.aBlock), unsafe.Offsetof(c.cBlock), unsafe.Offsetof(c.lines),
		unsafe.Offsetof(c.aLine), unsafe.Offsetof(c.cLine), unsafe.Offsetof(c.accumulate),
		unsafe.Offsetof(c.aSecond), unsafe.Offsetof(c.cSecond), unsafe.Offsetof(c.bLine),
		unsafe.Offsetof(c.half), unsafe.Offsetof(c.halfRow), unsafe.Offsetof(c.halfBlock), unsafe.Offsetof(c.halfSecond), unsafe.Offsetof(c.halfLine),
		unsafe.Offsetof(c.rounded), unsafe.Offsetof(c.roundedSecond), unsafe.Offsetof(c.mask), unsafe.Offsetof(c.bias), unsafe.Offsetof(c.biasLine),
		unsafe.Offsetof(c.floor), unsafe.Offsetof(c.ahead), unsafe.Offsetof(c.later)} {
		require.Equal(t, uintptr(8*i), offset)
	}
	require.Equal(t, uintptr(8*(39+17)), unsafe.Sizeof(c), "17 counters of the assembly")
}

// TestBytesCallLayout does the same for products of bytes.
func TestBytesCallLayout(t *testing.T) {
	var c bytesCall
	for i, offset := range []uintptr{unsafe.Offsetof(c.a), unsafe.Offsetof(c.b), unsafe.Offsetof(c.c), unsafe.Offsetof(c.start), unsafe.Offsetof(c.config),
		unsafe.Offsetof(c.steps), unsafe.Offsetof(c.aRow), unsafe.Offsetof(c.aSecond), unsafe.Offsetof(c.aBlock), unsafe.Offsetof(c.aLast),
		unsafe.Offsetof(c.bLast), unsafe.Offsetof(c.bPair), unsafe.Offsetof(c.bPanel), unsafe.Offsetof(c.cRow), unsafe.Offsetof(c.cSecond),
		unsafe.Offsetof(c.cBlock), unsafe.Offsetof(c.cLast), unsafe.Offsetof(c.cPair), unsafe.Offsetof(c.cPanel), unsafe.Offsetof(c.startSecond),
		unsafe.Offsetof(c.startBlock), unsafe.Offsetof(c.startLast), unsafe.Offsetof(c.panels), unsafe.Offsetof(c.pairs), unsafe.Offsetof(c.blocks), unsafe.Offsetof(c.column)} {
		require.Equal(t, uintptr(8*i), offset)
	}
	require.Equal(t, uintptr(8*28), unsafe.Offsetof(c.ahead))
	require.Equal(t, uintptr(8*(29+11)), unsafe.Sizeof(c), "eleven counters of the assembly")
}

// TestDigitsCallLayout does the same for products of digits.
func TestDigitsCallLayout(t *testing.T) {
	var c digitsCall
	for i, offset := range []uintptr{unsafe.Offsetof(c.a), unsafe.Offsetof(c.b), unsafe.Offsetof(c.c), unsafe.Offsetof(c.config),
		unsafe.Offsetof(c.steps), unsafe.Offsetof(c.aRow), unsafe.Offsetof(c.plane), unsafe.Offsetof(c.aBlock), unsafe.Offsetof(c.aLast),
		unsafe.Offsetof(c.cBlock), unsafe.Offsetof(c.cLast), unsafe.Offsetof(c.blocks), unsafe.Offsetof(c.pairs)} {
		require.Equal(t, uintptr(8*i), offset)
	}
	require.Equal(t, uintptr(8*(13+6)), unsafe.Sizeof(c), "six counters of the assembly")
}
