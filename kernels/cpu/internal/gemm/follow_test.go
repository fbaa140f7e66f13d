package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestFollow: few rows times panels in a near cache, which are read in the order of memory, have the same bits.
func TestFollow(t *testing.T) {
	defer isa.OverrideHalfUnits(false)()
	p := pool.New(2)
	defer p.Close()
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(29, 11))
			t.Run("float32", func(t *testing.T) { testFollow[float32](t, rng, p); testFollowMade[float32](t, rng, p) })
			t.Run("float64", func(t *testing.T) { testFollow[float64](t, rng, p); testFollowMade[float64](t, rng, p) })
		})
	}
}

func testFollow[T Float](t *testing.T, rng *rand.Rand, p *pool.Pool) {
	followed := 0
	for range 12 {
		a := Args[T]{M: 2 + rng.IntN(followRows-1), N: 300 + rng.IntN(100), K: BlockK + rng.IntN(2*BlockK), TransA: rng.IntN(3) == 0, ReLU: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0}
		fill(rng, &a, rng.IntN(2)*3, rng.IntN(2) == 0)
		packed := make([]T, PackedSize[T](a.N, a.K))
		PackB(nil, packed, a.B, a.K, a.N, a.LDB, a.TransB)
		a.B, a.Packed = packed, true
		var results [2][]T
		for i, on := range []bool{false, true} {
			restore := isa.OverrideNearCache(on)
			b := a
			b.C = append([]T(nil), a.C...)
			n := b.normal()
			follows := newPlan(&n, 1).follows
			require.Equal(t, on && isa.Active().Has(isa.Vectors512), follows)
			if follows {
				followed++
			}
			Run([]*pool.Pool{nil, p}[rng.IntN(2)], &b, make([]T, ScratchSize(&b, p.Size())))
			restore()
			results[i] = b.C
		}
		require.Equal(t, results[0], results[1], "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.Equal(t, isa.Active().Has(isa.Vectors512), followed > 0)
}

// testFollowMade: that order does not change bits either if the panels are made from a transposed B with short sums, or
// with rows that compete for cache sets.
func testFollowMade[T Float](t *testing.T, rng *rand.Rand, p *pool.Pool) {
	made := 0
	for i := range 12 {
		a := Args[T]{M: 2 + rng.IntN(packShortRows-1), N: 300 + rng.IntN(300), K: sweepSums + 1 + rng.IntN(packShortSums-sweepSums), TransB: true, TransA: rng.IntN(3) == 0, ReLU: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0}
		gap := rng.IntN(2) * 3
		if i%3 == 0 {
			a.M, a.K, gap = 2+rng.IntN(packFewRows-1), 2*BlockK, 0
		}
		fill(rng, &a, gap, rng.IntN(4) == 0)
		var results [2][]T
		for i, on := range []bool{false, true} {
			restore := isa.OverrideNearCache(on)
			b := a
			b.C = append([]T(nil), a.C...)
			if n := b.normal(); newPlan(&n, 1).follows {
				made++
			}
			Run([]*pool.Pool{nil, p}[rng.IntN(2)], &b, make([]T, ScratchSize(&b, p.Size())))
			restore()
			results[i] = b.C
		}
		require.Equal(t, results[0], results[1], "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.Equal(t, isa.Active().Has(isa.Vectors512), made == 12, "all where vectors have 512 bits")
}
