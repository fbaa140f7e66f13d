package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLogSoftmaxLines compares rows of every length around vectors, and their gradients, with float64, also if the
// result replaces an operand. What surrounds them does not change.
func TestLogSoftmaxLines(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 9))
		for _, cols := range []int{1, 5, 8, 9, 15, 16, 17, 31, 33, 39, 47, 63, 64, 65, 127, 200, 1001, 1024, 1025, 3000} {
			for _, rows := range []int{1, 67} {
				checkLogSoftmaxLines[float32](t, rng, rows, cols, 0x1p-22)
				checkLogSoftmaxLines[float64](t, rng, rows, cols, 0x1p-50)
			}
		}
		LogSoftmaxLines[float32](nil, nil, 0, nil)
		LogSoftmaxLinesGrad[float32](nil, nil, nil, 0, nil)
		LogSumLines[float32](nil, nil, 0, nil)
	})
}

func checkLogSoftmaxLines[T Float](t *testing.T, rng *rand.Rand, rows, cols int, unit float64) {
	t.Helper()
	n := rows * cols
	scratch := make([]T, cols)
	x, dy := random[T](rng, n+3), random[T](rng, n)
	for i := range x {
		x[i] = 4*x[i] + 100*T(i/cols%3)
	}
	y := slices.Clone(x)
	LogSoftmaxLines(y[1:n+1], y[1:n+1], cols, scratch)
	require.Equal(t, []T{x[0], x[n+1], x[n+2]}, []T{y[0], y[n+1], y[n+2]})
	other, totals := make([]T, n), make([]T, rows+1)
	LogSoftmaxLines(other, x[1:n+1], cols, scratch)
	require.Equal(t, y[1:n+1], other)
	LogSumLines(totals[:rows], x[1:n+1], cols, scratch)
	require.Zero(t, totals[rows])
	inY, inDy, dx := slices.Clone(other), slices.Clone(dy), make([]T, n)
	LogSoftmaxLinesGrad(dx, other, dy, cols, scratch)
	LogSoftmaxLinesGrad(inY, inY, dy, cols, scratch)
	LogSoftmaxLinesGrad(inDy, other, inDy, cols, scratch)
	require.Equal(t, dx, inY)
	require.Equal(t, dx, inDy)
	for r := range rows {
		sum, up := 0.0, 0.0
		for c := range cols {
			sum += math.Exp(float64(x[1+r*cols+c]))
			up += float64(dy[r*cols+c])
		}
		total := math.Log(sum)
		near(t, total, float64(totals[r]), 4*unit*(4+math.Abs(total)), "logarithm of the sum", rows, cols)
		for c := range cols {
			i := r*cols + c
			near(t, float64(x[1+i])-total, float64(other[i]), 4*unit*(4+math.Abs(total)), "log softmax", rows, cols)
			p := math.Exp(float64(other[i])) * up
			near(t, float64(dy[i])-p, float64(dx[i]), 40*unit*float64(1+cols)*math.Exp(float64(other[i]))+8*unit, "gradient", rows, cols)
		}
	}
	checkBadLines(t, rng, other, x[1:n+1], cols, scratch)
}

// checkBadLines uses NaN, infinity and rows of only −Inf, which turn their own rows into NaN and no others.
func checkBadLines[T Float](t *testing.T, rng *rand.Rand, y, x []T, cols int, scratch []T) {
	t.Helper()
	totals := make([]T, len(x)/cols)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		at := rng.IntN(len(x))
		x[at] = T(bad)
		LogSoftmaxLines(y, x, cols, scratch)
		LogSumLines(totals, x, cols, scratch)
		for i, v := range y {
			if row, total := i/cols, totals[i/cols]; (row == at/cols) != (v != v) || (row == at/cols) != (total != total) {
				t.Fatalf("%v at %d of rows of %d: %v at %d, %v of the row", bad, at, cols, v, i, total)
			}
		}
		x[at] = 0
	}
	for c := range cols {
		x[c] = T(math.Inf(-1))
	}
	LogSoftmaxLines(y[:cols], x[:cols], cols, scratch)
	for _, v := range y[:cols] {
		require.True(t, v != v)
	}
}
