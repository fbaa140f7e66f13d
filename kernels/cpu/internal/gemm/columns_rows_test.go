package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestColumnsOfFewRows: a row of a product with few columns has the same bits among many rows, which are transposed, as
// among few, and nothing is written outside the result.
func TestColumnsOfFewRows(t *testing.T) {
	t.Run("float32", columnsOfFewRows[float32])
	t.Run("float64", columnsOfFewRows[float64])
}

func columnsOfFewRows[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := pool.New(2)
	defer p.Close()
	for range 150 {
		a, _ := drawColumns[T](r, 1200)
		const guard = 64
		memory := make([]T, a.M*a.N+2*guard)
		a.C = memory[guard : guard+a.M*a.N : guard+a.M*a.N]
		Run(p, a, make([]T, ScratchSize(a, 2)))
		require.Equal(t, make([]T, guard), memory[:guard])
		require.Equal(t, make([]T, guard), memory[guard+a.M*a.N:])
		for _, m := range []int{2, 8, 20, columnsMinRows - 1} {
			few, at := *a, r.IntN(a.M-m+1)
			few.M, few.A, few.C = m, a.A[at*a.LDA:], make([]T, m*a.N)
			Run(p, &few, make([]T, ScratchSize(&few, 2)))
			for i, v := range few.C {
				require.Equal(t, math.Float64bits(float64(v)), math.Float64bits(float64(a.C[at*a.N+i])), "number %d of %d rows of %d, %d columns, %d products, bias: %v", i, m, a.M, a.N, a.K, a.Bias != nil)
			}
		}
	}
}
