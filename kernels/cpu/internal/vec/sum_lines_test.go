package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLineSums: sums of lines, and of their products, have the bits of Sum and Dot of each, whatever follows a line.
func TestLineSums(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 30))
		for cols := 1; cols < 200; cols += 1 + cols/40 {
			for _, rows := range []int{1, 2, 3, 7, 40} {
				checkLineSums[float32](t, r, rows, cols)
				checkLineSums[float64](t, r, rows, cols)
			}
		}
		checkLineSums[float32](t, r, 3, sumBlock)
		checkLineSums[float32](t, r, 3, sumBlock+5)
		SumLines([]float32{}, nil)
	})
}

func checkLineSums[T Float](t *testing.T, r *rand.Rand, rows, cols int) {
	x, y, sums, dots := make([]T, rows*cols), make([]T, rows*cols), make([]T, rows), make([]T, rows)
	for i := range x {
		x[i], y[i] = T(r.NormFloat64()), T(r.NormFloat64())
	}
	if rows > 2 { // a line that is not finite affects no other
		x[cols], y[2*cols] = T(math.Inf(1)), T(math.NaN())
	}
	SumLines(sums, x)
	DotLines(dots, x, y)
	for i := range rows {
		a, b := x[i*cols:(i+1)*cols], y[i*cols:(i+1)*cols]
		require.Equal(t, numberBits(Sum(a)), numberBits(sums[i]), "sum of line %d of %d x %d", i, rows, cols)
		require.Equal(t, numberBits(Dot(a, b)), numberBits(dots[i]), "products of line %d of %d x %d", i, rows, cols)
	}
}

// numberBits returns the bits of a number, the same for all NaN.
func numberBits[T Float](v T) uint64 {
	if v != v {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(float64(v))
}
