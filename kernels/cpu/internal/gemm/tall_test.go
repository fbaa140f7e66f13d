package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestTall compares sums over many rows with Run, bit for bit, on pools of several sizes.
func TestTall(t *testing.T) {
	t.Run("float32", testTall[float32])
	t.Run("float64", testTall[float64])
}

func testTall[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{2, 32, 2048}, {64, 96, 2500}, {300, 64, 2049}, {33, 640, 2048}, {128, 64, 2100}, {480, 288, 2048}} {
		for _, accumulate := range []bool{false, true} {
			m, n, k := s[0], s[1], s[2]
			lda, ldb, ldc := m+3, n+32, n+1
			fill := func(size int) []T {
				x := make([]T, size)
				for i := range x {
					x[i] = T(r.NormFloat64())
				}
				return x
			}
			a := Args[T]{M: m, N: n, K: k, A: fill(k * lda), LDA: lda, TransA: true, B: fill(k * ldb), LDB: ldb, C: fill(m * ldc), LDC: ldc, Accumulate: accumulate}
			require.True(t, IsTall(&a))
			want := a
			want.C = append([]T{}, a.C...)
			Run(nil, &want, make([]T, ScratchSize(&want, 1)))
			for _, workers := range []int{1, 2, 5} {
				got := a
				got.C = append([]T{}, a.C...)
				p := pool.New(workers)
				l := Tall[T]{Sums: fill(n)}
				l.Run(p, &got)
				assert.Zero(t, testing.AllocsPerRun(10, func() { l.Run(p, &got) }), "%d workers", workers)
				copy(got.C, a.C)
				l.Run(p, &got)
				p.Close()
				for c, sum := range l.Sums {
					exact, size := 0.0, 0.0
					for i := range k {
						exact, size = exact+float64(a.B[i*ldb+c]), size+math.Abs(float64(a.B[i*ldb+c]))
					}
					require.InDelta(t, exact, float64(sum), epsilon[T]()*size*float64(k)/16, "sum of column %d, %d workers", c, workers)
				}
				for i := range want.C {
					require.Equal(t, math.Float64bits(float64(want.C[i])), math.Float64bits(float64(got.C[i])), "%v, %d workers, element %d", s, workers, i)
				}
			}
		}
	}
}

// TestTallRefuses has products that are left to other functions.
func TestTallRefuses(t *testing.T) {
	good := Args[float32]{M: 64, N: 64, K: 4096, TransA: true}
	require.True(t, IsTall(&good))
	for name, change := range map[string]func(a *Args[float32]){
		"short": func(a *Args[float32]) { a.K = 256 }, "A as it is": func(a *Args[float32]) { a.TransA = false },
		"B transposed": func(a *Args[float32]) { a.TransB = true }, "packed": func(a *Args[float32]) { a.Packed = true },
		"batch": func(a *Args[float32]) { a.Batch = [2]int{1, 3} }, "bias": func(a *Args[float32]) { a.Bias = make([]float32, 64) },
		"ragged panel": func(a *Args[float32]) { a.N = 65 }, "a row": func(a *Args[float32]) { a.M = 1 },
	} {
		a := good
		change(&a)
		assert.False(t, IsTall(&a), name)
		var l Tall[float32]
		assert.Panics(t, func() { l.Run(nil, &a) }, fmt.Sprint("runs ", name))
	}
}

// BenchmarkLong computes the weight gradients of recurrent and dense layers over all examples and steps.
func BenchmarkLong(b *testing.B) {
	for _, s := range [][3]int{{128, 512, 6400}, {64, 512, 6400}, {128, 128, 2048}, {512, 128, 2048}, {480, 96, 2048}, {320, 256, 2048}, {256, 64, 5000}, {512, 32, 4000}, {256, 768, 4096}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), func(b *testing.B) {
			b.ReportAllocs()
			a := Args[float32]{M: s[0], N: s[1], K: s[2], TransA: true}
			fill(rand.New(rand.NewPCG(1, 1)), &a, 0, false)
			var l Tall[float32]
			best := math.Inf(1)
			for b.Loop() {
				start := time.Now()
				l.Run(nil, &a)
				best = min(best, float64(time.Since(start).Nanoseconds()))
			}
			flops := 2 * float64(s[0]) * float64(s[1]) * float64(s[2])
			b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			b.ReportMetric(flops/best, "best-GFLOP/s")
		})
	}
}
