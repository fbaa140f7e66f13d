package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestWithin finds the one number that is outside, wherever it is.
func TestWithin(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 16, 17, 31, 64, 100, 1003} {
			for _, last := range []int32{0, 1, 1000, math.MaxInt32} {
				x := guard.Copy(t, make([]int32, n), false)
				for i := range x {
					x[i] = int32(rand.Int64N(int64(last) + 1))
				}
				require.True(t, Within(x, last))
				for _, outside := range []int32{-1, math.MinInt32, last + 1} {
					if n == 0 || outside == math.MinInt32 && last == math.MaxInt32 {
						continue
					}
					i := rand.IntN(n)
					was := x[i]
					x[i] = outside
					require.False(t, Within(x, last), "%d at %d of %d, up to %d", outside, i, n, last)
					x[i] = was
				}
			}
		}
	})
}
