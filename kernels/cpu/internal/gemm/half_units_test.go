package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestHalfUnitsPackLess: processors that compute vectors in halves read B in place for more rows, with the same bits.
func TestHalfUnitsPackLess(t *testing.T) {
	p := pool.New(1)
	defer p.Close()
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(27, 11))
			t.Run("float32", func(t *testing.T) { testHalfUnitsPackLess[float32](t, rng, p) })
			t.Run("float64", func(t *testing.T) { testHalfUnitsPackLess[float64](t, rng, p) })
		})
	}
}

func testHalfUnitsPackLess[T Float](t *testing.T, rng *rand.Rand, p *pool.Pool) {
	inPlaces := [2]int{}
	for range 8 {
		a := Args[T]{M: packMinRows + rng.IntN(packMoreRows-packMinRows), N: 40 + rng.IntN(100), K: 1 + rng.IntN(600), TransA: rng.IntN(3) == 0, ReLU: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0}
		fill(rng, &a, rng.IntN(2)*3, rng.IntN(4) == 0)
		var results [2][]T
		for i, on := range []bool{false, true} {
			restore := isa.OverrideHalfUnits(on)
			b := a
			b.C = append([]T(nil), a.C...)
			if n := b.normal(); newPlan(&n, 1).source == inPlace {
				inPlaces[i]++
			}
			Run(p, &b, make([]T, ScratchSize(&b, p.Size())))
			restore()
			results[i] = b.C
		}
		require.Equal(t, results[0], results[1], "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.Equal(t, isa.Active().Has(isa.Vectors512), inPlaces[1] > inPlaces[0], "%v", inPlaces)
}
