package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestSweep compares products of short sums, whose rows go through all panels, with the same ones beside a bias of
// zeros, which go panel by panel: the bits are the same.
func TestSweep(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				testSweep[float32](t, p)
				testSweep[float64](t, p)
			})
		}
	}
}

func testSweep[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 20 {
		a := &Args[T]{M: packMinRows + rng.IntN(100), N: 40 + rng.IntN(700), K: 1 + rng.IntN(sweepSums), TransA: rng.IntN(2) == 0, TransB: rng.IntN(2) == 0,
			Accumulate: rng.IntN(2) == 0, ReLU: rng.IntN(3) == 0}
		fill(rng, a, rng.IntN(3), false)
		biased := *a
		biased.C, biased.Bias = append([]T(nil), a.C...), make([]T, a.N)
		n, b := a.normal(), biased.normal()
		if plan := newPlan(&n, p.Size()); !plan.transposed {
			require.True(t, plan.sweeps)
		}
		plan := newPlan(&b, p.Size())
		require.False(t, plan.sweeps)
		n.Ahead = [][]T{a.A}
		plan = newPlan(&n, p.Size())
		require.False(t, plan.sweeps, "what is to be fetched ahead has to be")
		if rng.IntN(3) == 0 {
			packed := make([]T, PackedSize[T](a.N, a.K))
			PackB(p, packed, a.B, a.K, a.N, a.LDB, a.TransB)
			a.B, a.LDB, a.TransB, a.Packed = packed, 0, false, true
		}
		Run(p, a, make([]T, ScratchSize(a, p.Size())))
		Run(p, &biased, make([]T, ScratchSize(&biased, p.Size())))
		require.Equal(t, biased.C, a.C, "M %d, N %d, K %d", a.M, a.N, a.K)
	}
}
