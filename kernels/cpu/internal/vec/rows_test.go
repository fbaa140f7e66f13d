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
		dst := make([]float64, 2)
		SumRows(dst, []float64{1, 2, 3, 4}, 2, 2, 2)
		require.Equal(t, []float64{4, 6}, dst)
	})
}

func TestRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testRows[float32])
		t.Run("float64", testRows[float64])
	})
}

func testRows[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, rows := range []int{0, 1, 2, 63, 64, 65, 1100} {
		for _, cols := range []int{0, 1, 3, 8, 10, 24, 32, 63, 64, 65, 130} {
			stride := cols + rng.IntN(3)
			n := max((rows-1)*stride+cols, 0)
			x, y, before := random[T](rng, n), random[T](rng, n), random[T](rng, n)
			a, b, c := random[T](rng, cols), random[T](rng, cols), random[T](rng, cols)
			squares, sums, products := random[T](rng, cols), random[T](rng, cols), random[T](rng, cols)
			affine, relu, combined := append([]T(nil), before...), append([]T(nil), before...), append([]T(nil), before...)
			SumSquaresRows(squares, x, a, rows, cols, stride)
			SumProductsRows(sums, products, y, x, a, rows, cols, stride)
			RowsAffine(affine, x, a, b, rows, cols, stride, false)
			RowsAffine(relu, x, a, b, rows, cols, stride, true)
			RowsCombine(combined, x, a, y, b, c, rows, cols, stride)
			wantSquares, wantSums, wantProducts := make([]float64, cols), make([]float64, cols), make([]float64, cols)
			for i := range n {
				if i%max(stride, 1) >= cols {
					require.Equal(t, before[i], affine[i], "between the rows")
					require.Equal(t, before[i], relu[i], "between the rows")
					require.Equal(t, before[i], combined[i], "between the rows")
					continue
				}
				k := i % stride
				d := float64(x[i]) - float64(a[k])
				wantSquares[k] += d * d
				wantSums[k] += float64(y[i])
				wantProducts[k] += float64(y[i]) * d
				v := float64(x[i])*float64(a[k]) + float64(b[k])
				require.InDelta(t, v, float64(affine[i]), 2e-6)
				require.InDelta(t, max(v, 0), float64(relu[i]), 2e-6)
				require.InDelta(t, float64(x[i])*float64(a[k])+float64(y[i])*float64(b[k])+float64(c[k]), float64(combined[i]), 4e-6)
			}
			for k := range cols {
				bound := 4e-6 * float64(10+rows)
				require.InDelta(t, wantSquares[k], float64(squares[k]), bound)
				require.InDelta(t, wantSums[k], float64(sums[k]), bound)
				require.InDelta(t, wantProducts[k], float64(products[k]), bound)
			}
		}
	}
	nan := []T{T(math.NaN())}
	RowsAffine(nan, nan, []T{1}, []T{0}, 1, 1, 1, true)
	require.True(t, nan[0] != nan[0])
}
