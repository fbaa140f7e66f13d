package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestColumns multiplies many short rows by a few columns, with any strides, bias and relu, and compares with sums in
// float64. One worker and three compute the same bits.
func TestColumns(t *testing.T) {
	testColumns[float32](t, 1e-5)
	testColumns[float64](t, 1e-13)
}

func testColumns[T Float](t *testing.T, allowed float64) {
	r := rand.New(rand.NewPCG(28, 4))
	for range 100 {
		a, fill := drawColumns[T](r, 3000)
		var results [2][]T
		for i, workers := range []int{1, 3} {
			p := pool.New(workers)
			a.C = fill(a.M * a.N)
			Run(p, a, make([]T, ScratchSize(a, workers)))
			results[i] = a.C
			p.Close()
		}
		require.Equal(t, results[0], results[1])
		for m := range a.M {
			for n := range a.N {
				sum := 0.0
				for k := range a.K {
					b := a.B[k*a.LDB*btoi(!a.TransB)+n*btoi(!a.TransB)+(n*a.LDB+k)*btoi(a.TransB)]
					sum += float64(a.A[m*a.LDA+k]) * float64(b)
				}
				if a.Bias != nil {
					sum += float64(a.Bias[n])
				}
				if a.ReLU {
					sum = max(sum, 0)
				}
				if got := float64(results[0][m*a.N+n]); !(math.Abs(sum-got) <= allowed*float64(a.K+1)) {
					t.Fatalf("M %d N %d K %d, row %d column %d: %v, expected %v", a.M, a.N, a.K, m, n, got, sum)
				}
			}
		}
	}
}

// drawColumns draws a product of many short rows and a few columns, without its result, and returns the numbers that
// fill memory.
func drawColumns[T Float](r *rand.Rand, rows int) (*Args[T], func(n int) []T) {
	a := &Args[T]{M: columnsMinRows + r.IntN(rows), N: 1 + r.IntN(columnsMost), K: 1 + r.IntN(1+r.IntN(blockK())), TransB: r.IntN(2) == 0, ReLU: r.IntN(2) == 0}
	a.LDA, a.LDB = a.K+r.IntN(2)*r.IntN(5), a.N+r.IntN(2)
	if a.TransB {
		a.LDB = a.K + r.IntN(2)
	}
	fill := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(r.NormFloat64())
		}
		return x
	}
	a.A, a.B = fill((a.M-1)*a.LDA+a.K), fill(max(a.K, a.N)*a.LDB)
	if r.IntN(2) == 0 {
		a.Bias = fill(a.N)
	}
	return a, fill
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
