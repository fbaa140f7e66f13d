package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestSumRowsOfParts sums columns of matrices of all sizes, which end where memory does, and of parts of them: each
// column has the same bits as alone, whatever is beside it.
func TestSumRowsOfParts(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(29, 12))
		for range 150 {
			sumsOfParts[float32](t, rng)
			sumsOfParts[float64](t, rng)
		}
	})
}

func sumsOfParts[T Float](t *testing.T, rng *rand.Rand) {
	rows, cols := 1+rng.IntN(200), 1+rng.IntN(200)
	stride := cols + rng.IntN(2)*rng.IntN(20)
	x := guard.Copy(t, make([]T, (rows-1)*stride+cols), false)
	for i := range x {
		x[i] = T(rng.NormFloat64())
		if rng.IntN(500) == 0 {
			x[i] = []T{T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), T(math.Copysign(0, -1))}[rng.IntN(4)]
		}
	}
	dst := guard.Copy(t, make([]T, cols), false)
	for i := range dst {
		dst[i] = T(math.NaN()) // the old contents do not matter
	}
	SumRows(dst, x, rows, cols, stride)
	from := rng.IntN(cols)
	part := make([]T, 1+rng.IntN(cols-from))
	SumRows(part, x[from:], rows, len(part), stride)
	for c, v := range part {
		w := dst[from+c]
		require.True(t, v == w || v != v && w != w, "column %d of %dx%d, and of those from %d to %d: %v, %v", from+c, rows, cols, from, from+len(part), w, v)
		var sum, block T // by the definition: in blocks of rows
		for r := range rows {
			if block += x[r*stride+from+c]; r%rowsBlock == rowsBlock-1 || r == rows-1 {
				sum, block = sum+block, 0
			}
		}
		if sum == sum && !math.IsInf(float64(sum), 0) {
			require.InDelta(t, float64(sum), float64(v), 1e-4)
		} else {
			require.True(t, v == sum || v != v && sum != sum)
		}
	}
}
