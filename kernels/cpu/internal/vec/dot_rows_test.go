package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDotRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(29, 62))
		for _, rows := range []int{0, 1, 2, 3, 4, 7, 13} {
			for _, cols := range []int{0, 16, 32, 48, 1008, 16400} {
				checkDotRows[float32](t, rng, rows, cols, cols+rng.IntN(20), 0x1p-23)
				checkDotRows[float64](t, rng, rows, cols, cols+rng.IntN(20), 0x1p-52)
			}
		}
	})
}

// checkDotRows compares with float64.
func checkDotRows[T Float](t *testing.T, rng *rand.Rand, rows, cols, stride int, unit float64) {
	t.Helper()
	x, y, dst := random[T](rng, cols), random[T](rng, rows*stride), random[T](rng, rows+1)
	behind := dst[rows]
	DotRows(dst[:rows], x, y, stride)
	for r := range rows {
		sum, size := 0.0, 1.0
		for c, v := range x {
			product := float64(v) * float64(y[r*stride+c])
			sum, size = sum+product, size+math.Abs(product)
		}
		near(t, sum/size, float64(dst[r])/size, 40*unit, "row", r, cols)
	}
	near(t, float64(behind), float64(dst[rows]), 0, "behind the rows", rows, cols)
}
