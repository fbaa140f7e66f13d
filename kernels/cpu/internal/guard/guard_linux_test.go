package guard

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var read float32 // forces the compiler to read

// TestCopy: numbers are copied, and the memory after their end, or before their start, cannot be read.
func TestCopy(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, n := range []int{1, 3, 1024, 1025} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		ends, begins := Copy(t, x, false), Copy(t, x, true)
		require.Equal(t, x, ends)
		require.Equal(t, x, begins)
		assert.Panics(t, func() { read = *(*float32)(unsafe.Add(unsafe.Pointer(&ends[n-1]), 4)) })
		assert.Panics(t, func() { read = *(*float32)(unsafe.Add(unsafe.Pointer(&begins[0]), -4)) })
	}
	assert.Empty(t, Copy(t, []int64{}, false))
}
