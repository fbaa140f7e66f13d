package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestFew adds up many products for few results, with any strides, and compares with sums in float64. One worker and
// three compute the same bits.
func TestFew(t *testing.T) {
	testFew[float32](t, 1e-6)
	testFew[float64](t, 1e-15)
}

func testFew[T Float](t *testing.T, allowed float64) {
	r, few := rand.New(rand.NewPCG(29, 11)), 0
	for range 60 {
		a := &Args[T]{M: 1 + r.IntN(5), N: 1 + r.IntN(5), K: fewLeast + r.IntN(9000), TransA: true}
		a.LDA, a.LDB, a.LDC = a.M+r.IntN(2)*r.IntN(5), a.N+r.IntN(2)*r.IntN(5), a.N+r.IntN(3)
		if a.M == 1 && r.IntN(2) == 0 { // the same product with another orientation
			a.TransA, a.LDA = false, a.K
		}
		if a.N == 1 && r.IntN(2) == 0 {
			a.TransB, a.LDB = true, a.K
		}
		fill := func(rows, cols, stride int) []T {
			x := make([]T, (rows-1)*stride+cols)
			for i := range x {
				x[i] = T(r.NormFloat64())
			}
			return x
		}
		a.A, a.B = fill(a.K, a.M, a.LDA), fill(a.K, a.N, a.LDB)
		if !a.TransA {
			a.A = fill(1, a.K, a.K)
		}
		if a.TransB {
			a.B = fill(1, a.K, a.K)
		}
		if n := a.normal(); n.isFew() {
			few++
		}
		var results [2][]T
		for i, workers := range []int{1, 3} {
			p := pool.New(workers)
			a.C = make([]T, (a.M-1)*a.LDC+a.N)
			Run(p, a, make([]T, ScratchSize(a, workers)))
			results[i] = a.C
			p.Close()
		}
		require.Equal(t, results[0], results[1])
		for m := range a.M {
			for n := range a.N {
				sum := 0.0
				for k := range a.K {
					x, y := k*a.LDA+m, k*a.LDB+n
					if !a.TransA {
						x = k
					}
					if a.TransB {
						y = k
					}
					sum += float64(a.A[x]) * float64(a.B[y])
				}
				require.InDelta(t, sum, float64(results[0][m*a.LDC+n]), allowed*float64(a.K), "M %d N %d K %d, row %d column %d", a.M, a.N, a.K, m, n)
			}
		}
	}
	if isa.Active().Has(isa.Vectors256) {
		require.Greater(t, few, 10)
	}
}
