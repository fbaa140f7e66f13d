package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSoftmaxLines compares rows of every length around vectors with sums in float64, also if the result replaces an
// operand. What surrounds them does not change.
func TestSoftmaxLines(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 9))
		for _, cols := range []int{1, 5, 8, 9, 15, 16, 17, 31, 33, 39, 47, 63, 64, 65, 127, 200, 1001, 1024, 1025, 3000} {
			for _, rows := range []int{1, 2, 37} {
				checkSoftmaxLines[float32](t, rng, rows, cols, 0x1p-22)
				checkSoftmaxLines[float64](t, rng, rows, cols, 0x1p-50)
			}
		}
		SoftmaxLines[float32](nil, nil, 0)
		SoftmaxLinesGrad[float32](nil, nil, nil, 0)
	})
}

func checkSoftmaxLines[T Float](t *testing.T, rng *rand.Rand, rows, cols int, unit float64) {
	t.Helper()
	n := rows * cols
	x, dy := random[T](rng, n+3), random[T](rng, n)
	for i := range x {
		x[i] *= 4
	}
	y := slices.Clone(x)
	SoftmaxLines(y[1:n+1], y[1:n+1], cols)
	require.Equal(t, []T{x[0], x[n+1], x[n+2]}, []T{y[0], y[n+1], y[n+2]})
	other := make([]T, n)
	SoftmaxLines(other, x[1:n+1], cols)
	require.Equal(t, y[1:n+1], other)
	inY, inDy, dx := slices.Clone(other), slices.Clone(dy), make([]T, n)
	SoftmaxLinesGrad(dx, other, dy, cols)
	SoftmaxLinesGrad(inY, inY, dy, cols)
	SoftmaxLinesGrad(inDy, other, inDy, cols)
	require.Equal(t, dx, inY)
	require.Equal(t, dx, inDy)
	for r := range rows {
		sum, dot := 0.0, 0.0
		for c := range cols {
			sum += math.Exp(float64(x[1+r*cols+c]))
		}
		for c := range cols {
			dot += float64(other[r*cols+c]) * float64(dy[r*cols+c])
		}
		for c := range cols {
			i := r*cols + c
			want := math.Exp(float64(x[1+i])) / sum
			near(t, want, float64(other[i]), 40*unit*want, "softmax", rows, cols)
			near(t, float64(other[i])*(float64(dy[i])-dot), float64(dx[i]), 40*unit, "gradient", rows, cols)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} { // one such number turns its own row into NaN, and no other
		at := rng.IntN(n)
		x[1+at] = T(bad)
		SoftmaxLines(other, x[1:n+1], cols)
		for i, v := range other {
			require.Equal(t, i/cols == at/cols, v != v, "%v at %d of rows of %d: %d", bad, at, cols, i)
		}
		x[1+at] = 0
	}
	for c := range cols {
		x[1+c] = T(math.Inf(-1))
	}
	SoftmaxLines(other[:cols], x[1:cols+1], cols)
	for _, v := range other[:cols] {
		require.True(t, v != v)
	}
}
