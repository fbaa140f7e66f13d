package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestStorePages: if the processor can translate the pages of many rows at once, short sums have chunks of more rows,
// which read B less often, with the same bits.
func TestStorePages(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				rng := rand.New(rand.NewPCG(29, 11))
				testStorePages[float32](t, rng, p)
				testStorePages[float64](t, rng, p)
			})
		}
	}
}

func testStorePages[T Float](t *testing.T, rng *rand.Rand, p *pool.Pool) {
	for range 6 {
		a := Args[T]{M: maxRows + rng.IntN(200), N: 1024 + rng.IntN(100), K: sweepSums + 1 + rng.IntN(100), TransA: rng.IntN(3) == 0, TransB: rng.IntN(3) == 0, ReLU: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0}
		fill(rng, &a, rng.IntN(2)*3, rng.IntN(4) == 0)
		var results [2][]T
		var rows [2]int
		for i, pages := range []int{shortRows - 1, shortRows} {
			restore := isa.OverrideStorePages(pages)
			b := a
			b.C = append([]T(nil), a.C...)
			n := b.normal()
			rows[i] = newPlan(&n, 1).rows
			Run(p, &b, make([]T, ScratchSize(&b, p.Size())))
			restore()
			results[i] = b.C
		}
		require.LessOrEqual(t, rows[0], shortRows)
		require.Greater(t, rows[1], 2*shortRows-1)
		require.Equal(t, results[0], results[1], "M %d, N %d, K %d", a.M, a.N, a.K)
	}
}
