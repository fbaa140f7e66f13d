package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestDeep draws products of few rows and columns with long sums for many workers, which compute blocks of the sums at
// the same time: the bits are those of one worker, also with NaN.
func TestDeep(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			p := pool.New(7)
			defer p.Close()
			testDeep[float32](t, p)
			testDeep[float64](t, p)
		})
	}
}

func testDeep[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(61, 62))
	deep := 0
	for range 12 {
		a := &Args[T]{M: 2 + rng.IntN(100), N: 10 + rng.IntN(120), K: 1100 + rng.IntN(4000), ReLU: rng.IntN(2) == 0,
			TransA: rng.IntN(4) == 0, TransB: rng.IntN(4) == 0}
		fill(rng, a, rng.IntN(3), rng.IntN(2) == 0)
		a.A[rng.IntN(len(a.A))] = T(math.NaN())
		a.A[rng.IntN(len(a.A))] = T(math.Inf(1))
		want := *a
		want.C = append([]T(nil), a.C...)
		Run(nil, &want, make([]T, ScratchSize(&want, 1)))
		if rng.IntN(3) == 0 {
			packed := make([]T, PackedSize[T](a.N, a.K))
			PackB(p, packed, a.B, a.K, a.N, a.LDB, a.TransB)
			a.B, a.LDB, a.TransB, a.Packed = packed, 0, false, true
		}
		n := a.normal()
		if newPlan(&n, p.Size()).deep {
			deep++
		}
		scratch := make([]T, ScratchSize(a, p.Size()))
		for i := range scratch {
			scratch[i] = T(math.NaN())
		}
		Run(p, a, scratch)
		for i := range want.C {
			require.Equal(t, bitsOf(want.C[i]), bitsOf(a.C[i]), "M %d, N %d, K %d, element %d", a.M, a.N, a.K, i)
		}
	}
	require.Greater(t, deep, 3)
}

// bitsOf returns the bits of a number; all NaN count as the same.
func bitsOf[T Float](x T) uint64 {
	if x != x {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(float64(x))
}
