package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHits compares with plain loops: ties, NaN, shares that are infinite, steps longer than the rows.
func TestHits(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 141))
		some := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				if x[i] = float32(r.IntN(5) - 2); r.IntN(30) == 0 {
					x[i] = float32(math.NaN())
				} else if r.IntN(30) == 0 {
					x[i] = float32(math.Inf(1))
				}
			}
			return x
		}
		for _, c := range []int{1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 40, 44, 64, 129, 5000} {
			for _, count := range []int{0, 1, 2, 9, 600} {
				step := c + r.IntN(2)*r.IntN(40)
				x, top, share := some(max(count-1, 0)*step+c), some(c), some(c)
				dst, acc := some(len(x)), some(c)
				want, sums := append([]float32{}, dst...), append([]float32{}, acc...)
				for i := range count {
					for k := range c {
						hit := float32(0)
						if x[i*step+k] == top[k] {
							hit = 1
						}
						sums[k] += hit
						want[i*step+k] = hit * share[k]
					}
				}
				HitsCount(acc, x, top, count, step)
				HitsShare(dst, x, top, share, count, step)
				for i, v := range sums {
					require.True(t, v == acc[i] || v != v && acc[i] != acc[i], "%d rows of %d: count %d is %v, want %v", count, c, i, acc[i], v)
				}
				for i, v := range want {
					require.True(t, math.Float32bits(v) == math.Float32bits(dst[i]) || v != v && dst[i] != dst[i], "%d rows of %d: element %d is %v, want %v", count, c, i, dst[i], v)
				}
			}
		}
	})
}
