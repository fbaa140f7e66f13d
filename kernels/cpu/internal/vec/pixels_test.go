package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPixels compares with plain loops, with many ties, NaN and steps on both sides; what lies between pixels must not
// change.
func TestPixels(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		some := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				if x[i] = float32(rng.IntN(4)); rng.IntN(20) == 0 {
					x[i] = float32(math.NaN())
				}
			}
			return x
		}
		same := func(want, got []float32, what string) {
			t.Helper()
			for i, v := range want {
				require.True(t, v == got[i] || v != v && got[i] != got[i], "%s: element %d is %v, want %v", what, i, got[i], v)
			}
		}
		for _, c := range []int{1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 40, 64, 129} {
			for _, count := range []int{1, 2, 9, 600} {
				a, b := c+rng.IntN(2)*rng.IntN(40), c+rng.IntN(2)*rng.IntN(40)
				dst, x := some((count-1)*a+c), some((count-1)*b+c)
				top, sum := append([]float32{}, dst...), append([]float32{}, dst...)
				for i := range count {
					for k := range c {
						d, v := i*a+k, x[i*b+k]
						top[d], sum[d] = max(dst[d], v), dst[d]+v
					}
				}
				got := append([]float32{}, dst...)
				PixelsMax(got, x, count, c, a, b)
				same(top, got, "maximum")
				got = append([]float32{}, dst...)
				PixelsAdd(got, x, count, c, a, b)
				same(sum, got, "sum")

				dx, left, y := some(len(x)), some(len(dst)), some(len(dst))
				wantX, wantLeft := append([]float32{}, dx...), append([]float32{}, left...)
				for i := range count {
					for k := range c {
						if v := x[i*b+k]; v == y[i*a+k] || v != v {
							wantX[i*b+k] += left[i*a+k]
							wantLeft[i*a+k] = 0
						}
					}
				}
				PixelsClaim(dx, x, left, y, count, c, b, a)
				same(wantX, dx, "gradient")
				same(wantLeft, left, "rest")
			}
		}
		PixelsMax[float32](nil, nil, 0, 4, 4, 4)
		PixelsAdd[float32](nil, nil, 3, 0, 0, 0)
		PixelsClaim[float32](nil, nil, nil, nil, 0, 4, 4, 4)
	})
}
