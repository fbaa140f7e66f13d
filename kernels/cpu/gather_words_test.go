package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAllWithin finds a number outside wherever it is.
func TestAllWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	for n := range 40 {
		for _, limit := range []int64{1, 2, 1000, math.MaxInt32, 1 << 31, 1 << 40} {
			at := make([]int32, n)
			for i := range at {
				at[i] = int32(r.Int64N(min(limit, 1<<31)))
			}
			require.True(t, allWithin(at, limit), "%v below %d", at, limit)
			if n == 0 {
				continue
			}
			outside := []int32{-1, math.MinInt32}
			if limit <= math.MaxInt32 {
				outside = append(outside, int32(limit), math.MaxInt32)
			}
			at[r.IntN(n)] = outside[r.IntN(len(outside))]
			require.False(t, allWithin(at, limit), "%v below %d", at, limit)
		}
	}
}
