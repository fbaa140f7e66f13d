package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestStream compares products whose B is read from memory, and those of several workers, with the same products with a
// packed B: the bits are the same.
func TestStream(t *testing.T) {
	defer isa.OverrideHalfUnits(false)()
	for i, path := range append(isa.Paths(), isa.Detected()) {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				defer isa.OverrideNearCache(i == len(isa.Paths()))() // the best path a second time, with a near cache
				p := pool.New(workers)
				defer p.Close()
				testStream[float32](t, p)
				testStream[float64](t, p)
			})
		}
	}
}

func testStream[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(23, 24))
	whole := 0
	for i := range 8 {
		a := &Args[T]{M: streamMinRows + i%2*rng.IntN(20), N: 300 + rng.IntN(900), TransA: rng.IntN(3) == 0, ReLU: rng.IntN(2) == 0}
		gap := rng.IntN(3)
		if i%3 == 0 { // rows that compete for cache sets
			a.N, gap = 512, 0
		}
		a.K = streamMinSize/int(sizeOf[T]())/a.N + 1 + rng.IntN(300)
		if i%4 == 3 { // more than fits for several workers
			a.K += p.Size() * flatShare / int(sizeOf[T]()) / a.N
		}
		fill(rng, a, gap, rng.IntN(2) == 0)
		n := a.normal()
		plan := newPlan(&n, p.Size())
		fits := p.Size() > 1 && a.K*a.N*int(sizeOf[T]()) <= p.Size()*flatShare
		require.Equal(t, !fits && (p.Size() == 1 || a.isFlat()), plan.streams, "several workers keep what they have in their caches")
		if plan.wholeRows {
			whole++
		}
		packed := *a
		packed.C, packed.B = append([]T(nil), a.C...), make([]T, PackedSize[T](a.N, a.K))
		PackB(p, packed.B, a.B, a.K, a.N, a.LDB, false)
		packed.Packed, packed.LDB = true, 0
		Run(p, &packed, make([]T, ScratchSize(&packed, p.Size())))
		scratch := make([]T, ScratchSize(a, p.Size()))
		for i := range scratch {
			scratch[i] = T(math.NaN())
		}
		Run(p, a, scratch)
		require.Equal(t, packed.C, a.C, "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.Equal(t, readsAhead() && p.Size() == 1, whole > 0, "few rows read whole rows of B where the processor reads ahead")
}
