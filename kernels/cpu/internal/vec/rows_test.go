package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for _, rows := range []int{0, 1, 2, 63, 64, 65, 200} {
			for _, cols := range []int{0, 1, 3, 10, 32, 63, 64, 65, 130} {
				stride := cols + rng.IntN(3)
				x := random[float32](rng, max((rows-1)*stride+cols, 0))
				dst := random[float32](rng, cols)
				SumRows(dst, x, rows, cols, stride)
				for c := range dst {
					var sum, size float64
					for r := range rows {
						sum += float64(x[r*stride+c])
						size += math.Abs(float64(x[r*stride+c]))
					}
					require.InDelta(t, sum, float64(dst[c]), 0x1p-24*70*size, "%dx%d", rows, cols)
				}
			}
		}
		require.NotPanics(t, func() {
			SumRows[float32](nil, nil, 3, 0, 4)
			SumRows[float64](nil, nil, 0, 0, 4)
		}, "a matrix without columns has no elements")
		dst := make([]float64, 2)
		SumRows(dst, []float64{1, 2, 3, 4}, 2, 2, 2)
		require.Equal(t, []float64{4, 6}, dst)
	})
}
