package vec

import (
	"math/rand/v2"
	"testing"
)

func TestAddProducts(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(37, 38))
		for _, c := range []struct{ rows, depth, cols, dstStride, fStride, xStride int }{
			{1, 1, 16, 16, 1, 16}, {3, 2, 48, 96, 5, 50}, {17, 9, 32, 40, 9, 32}, {5, 40, 272, 300, 41, 280}, {900, 130, 16, 17, 130, 20}} {
			checkAddProducts[float32](t, rng, c.rows, c.depth, c.cols, c.dstStride, c.fStride, c.xStride, 0x1p-23)
			checkAddProducts[float64](t, rng, c.rows, c.depth, c.cols, c.dstStride, c.fStride, c.xStride, 0x1p-52)
		}
	})
}

// checkAddProducts compares with float64, and checks that nothing changes outside of the rows.
func checkAddProducts[T Float](t *testing.T, rng *rand.Rand, rows, depth, cols, dstStride, fStride, xStride int, unit float64) {
	t.Helper()
	dst := random[T](rng, rows*dstStride+cols)
	f, x := random[T](rng, rows*fStride+depth), random[T](rng, depth*xStride+cols)
	want := make([]float64, len(dst))
	for i, v := range dst {
		want[i] = float64(v)
	}
	for r := range rows {
		for k := range depth {
			for c := range cols {
				want[r*dstStride+c] += float64(f[r*fStride+k]) * float64(x[k*xStride+c])
			}
		}
	}
	AddProducts(dst, f, x, rows, depth, cols, dstStride, fStride, xStride)
	for i, v := range dst {
		near(t, want[i], float64(v), 16*float64(depth)*unit, "element", i, cols)
	}
}
