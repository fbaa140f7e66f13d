package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestTurned compares products with a large transposed A, whose blocks are transposed first, or which is the vector
// operand if there are few columns, with those of the same A stored by rows: the bits are the same.
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
	packed := 0
	for i := range 20 {
		narrow := i%2 == 0
		a := &Args[T]{M: 200 + rng.IntN(400), TransA: true, ReLU: !narrow && rng.IntN(3) == 0}
		a.K = turnMinBytes/int(sizeOf[T]())/a.M + 1 + rng.IntN(300)
		if narrow {
			a.N = 1 + rng.IntN(narrowMaxCols)
		} else {
			a.N, a.TransB, a.Accumulate = turnMinCols+rng.IntN(100), rng.IntN(3) == 0, rng.IntN(3) == 0
			if !a.TransB && !a.Accumulate {
				a.N += narrowMaxCols
			}
		}
		gap := rng.IntN(3)
		switch {
		case narrow && i%8 == 0: // rows that compete for cache sets
			a.M, a.K, a.N, gap = 512, 300+rng.IntN(600), narrowPackCols+rng.IntN(100), 0
		case narrow && i%8 == 4: // several blocks, and not whole vectors
			a.M, a.K, a.N = 800+rng.IntN(200), 700+rng.IntN(100), 14+rng.IntN(5)
		case i%8 == 2: // a large A for one or two columns, whose sums are not cut
			a.M, a.K, a.N = 800+rng.IntN(200), 700+rng.IntN(100), 1+i/8%2
		}
		fill(rng, a, gap, !narrow && rng.IntN(2) == 0)
		n := a.normal()
		plan := newPlan(&n, p.Size())
		if narrow && n.packsNarrow() {
			packed++
		}
		require.Equal(t, narrow, plan.narrow)
		require.Equal(t, !narrow, plan.turnA)
		plain := *a
		plain.TransA, plain.LDA, plain.A, plain.C = false, a.K, make([]T, a.M*a.K), append([]T(nil), a.C...)
		for m := range a.M {
			for k := range a.K {
				plain.A[m*a.K+k] = a.A[k*a.LDA+m]
			}
		}
		Run(p, &plain, make([]T, ScratchSize(&plain, p.Size())))
		scratch := make([]T, ScratchSize(a, p.Size()))
		for i := range scratch {
			scratch[i] = T(math.NaN())
		}
		Run(p, a, scratch)
		require.Equal(t, plain.C, a.C, "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.GreaterOrEqual(t, packed, 2)
}

// TestTurnedNot has products for which transposing blocks of A does not pay.
func TestTurnedNot(t *testing.T) {
	for what, a := range map[string]Args[float32]{
		"A by rows": {M: 1000, N: 100, K: 1000},
		"few uses":  {M: 1000, N: turnMinCols - 1, K: 1000, TransA: true},
		"small A":   {M: 100, N: 100, K: 100, TransA: true},
		"few sums":  {M: 2000, N: 200, K: turnMinSums, TransA: true},
	} {
		n := a.normal()
		plan := newPlan(&n, 1)
		require.False(t, plan.turnA, what)
	}
}
