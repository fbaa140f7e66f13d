package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestTurned compares products with a large transposed A, whose blocks are transposed first, with those of the same A
// stored by rows: the bits are the same.
func TestTurned(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				testTurned[float32](t, p)
				testTurned[float64](t, p)
			})
		}
	}
}

func testTurned[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 12 {
		a := &Args[T]{M: 200 + rng.IntN(400), N: turnMinCols + rng.IntN(100), TransA: true, TransB: rng.IntN(3) == 0, Accumulate: rng.IntN(3) == 0, ReLU: rng.IntN(3) == 0}
		a.K = turnMinBytes/int(sizeOf[T]())/a.M + 1 + rng.IntN(300)
		fill(rng, a, rng.IntN(3), rng.IntN(2) == 0)
		turned := newPlan(a, p.Size())
		require.True(t, turned.turnA)
		plain := *a
		plain.TransA, plain.LDA, plain.A, plain.C = false, a.K, make([]T, a.M*a.K), append([]T(nil), a.C...)
		for m := range a.M {
			for k := range a.K {
				plain.A[m*a.K+k] = a.A[k*a.LDA+m]
			}
		}
		Run(p, &plain, make([]T, ScratchSize(&plain, p.Size())))
		Run(p, a, make([]T, ScratchSize(a, p.Size())))
		require.Equal(t, plain.C, a.C, "M %d, N %d, K %d", a.M, a.N, a.K)
	}
}

// TestTurnedNot has products for which transposing blocks of A does not pay.
func TestTurnedNot(t *testing.T) {
	for what, a := range map[string]Args[float32]{
		"A by rows": {M: 1000, N: 100, K: 1000},
		"few uses":  {M: 1000, N: turnMinCols - 1, K: 1000, TransA: true},
		"small A":   {M: 100, N: 100, K: 100, TransA: true},
	} {
		n := a.normal()
		plan := newPlan(&n, 1)
		require.False(t, plan.turnA, what)
	}
}
