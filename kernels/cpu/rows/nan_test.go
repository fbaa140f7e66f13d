package rows

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A NaN is found wherever it is, among numbers of any size, and whatever their number.
func TestNoNaN(t *testing.T) {
	for _, n := range []int{1, 2, 7, 16, 33, 1023, 1024, 1025, 5000} {
		for _, filler := range []float64{0, 1, -3e38, 3e38, math.Inf(1)} {
			narrow, wide := make([]byte, 4*n), make([]byte, 8*n)
			put := func(i int, v float64) {
				binary.LittleEndian.PutUint32(narrow[4*i:], math.Float32bits(float32(v)))
				binary.LittleEndian.PutUint64(wide[8*i:], math.Float64bits(v))
			}
			for i := range n {
				put(i, filler)
			}
			require.True(t, NoNaN(narrow, 4))
			require.True(t, NoNaN(wide, 8))
			for _, at := range []int{0, n / 2, n - 1} {
				put(at, math.NaN())
				require.False(t, NoNaN(narrow, 4), "%d numbers %v, NaN at %d", n, filler, at)
				require.False(t, NoNaN(wide, 8), "%d numbers %v, NaN at %d", n, filler, at)
				put(at, filler)
			}
		}
	}
	require.True(t, NoNaN(nil, 4))
	memory, whole := make([]byte, 64), 0
	for from := range 4 {
		if NoNaN(memory[from:from+8], 4) {
			whole++
		}
	}
	require.Equal(t, 1, whole, "memory between numbers")
}
