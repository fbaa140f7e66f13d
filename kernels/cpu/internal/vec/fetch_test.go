package vec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFetch: prefetching rows of any kind, up to the end of the slice, changes nothing and touches no unreadable
// memory.
func TestFetch(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for n := 1; n < 100; n += 7 {
			x := make([]float32, 3*n)
			for i := range x {
				x[i] = float32(i)
			}
			Fetch(x, 3, n, n)
			Fetch(x[n:], 2, n/2+1, n)
			Fetch(x, 0, n, n)
			Fetch(x, 3, 0, n)
			for i, v := range x {
				require.Equal(t, float32(i), v)
			}
		}
		require.Panics(t, func() { Fetch(make([]float64, 5), 2, 3, 3) })
	})
}
