package gemm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestFlat draws products of small batches with weights, and gradients of weights, for several numbers of workers. The
// chunks cover C; each worker gets equally many if there are enough. The bits are those of one worker.
func TestFlat(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(51, 52))
			for _, workers := range []int{2, 3, 5} {
				p := pool.New(workers)
				defer p.Close()
				for range 6 {
					testFlat[float32](t, p, rng)
					testFlat[float64](t, p, rng)
				}
			}
		})
	}
}

func testFlat[T Float](t *testing.T, p *pool.Pool, rng *rand.Rand) {
	batch, in, out := 1+rng.IntN(130), 100+rng.IntN(800), 100+rng.IntN(800)
	if rng.IntN(2) == 0 {
		in, out = in/32*32, out/32*32
	}
	a := &Args[T]{M: batch, N: out, K: in, ReLU: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		a = &Args[T]{M: in, N: out, K: batch, TransA: true, Accumulate: rng.IntN(2) == 0}
	}
	fill(rng, a, rng.IntN(3), !a.TransA && rng.IntN(2) == 0)
	n := a.normal()
	plan := newPlan(&n, p.Size())
	if plan.isFlat(&n) {
		require.LessOrEqual(t, a.N, plan.cols*plan.colChunks)
		require.Less(t, plan.cols*(plan.colChunks-1), a.N)
		require.LessOrEqual(t, a.M, plan.rows*plan.rowChunks)
		require.Less(t, plan.rows*(plan.rowChunks-1), a.M)
	}
	alone := *a
	alone.C = append([]T(nil), a.C...)
	Run(nil, &alone, make([]T, ScratchSize(&alone, 1)))
	scratch := make([]T, ScratchSize(a, p.Size()))
	for i := range scratch {
		scratch[i] = T(math.NaN())
	}
	Run(p, a, scratch)
	require.Equal(t, alone.C, a.C, "M %d, N %d, K %d, %d workers", a.M, a.N, a.K, p.Size())
}

// TestPlans: a pool that has room for more workers than are active plans for the active ones, in the same scratch
// memory.
func TestPlans(t *testing.T) {
	defer isa.OverrideHalfUnits(false)()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	p := pool.Shared()
	if p.Size() < 2 {
		t.Skip("the machine has one processor")
	}
	rng := rand.New(rand.NewPCG(53, 54))
	a := &Args[float32]{M: 40, N: 512, K: 1000}
	fill(rng, a, 0, true)
	q := Prepare(a, p.Size())
	scratch := make([]float32, q.ScratchSize())
	require.False(t, q.plans.of(p).streams)
	q.Run(p, a.A, a.B, a.C, a.Bias, scratch)
	together := append([]float32(nil), a.C...)
	runtime.GOMAXPROCS(1)
	require.True(t, q.plans.of(p).streams, "one worker's weights come through memory")
	q.Run(p, a.A, a.B, a.C, a.Bias, scratch)
	require.Equal(t, together, a.C)
	require.GreaterOrEqual(t, len(scratch), q.plans.alone.scratchSize(&q.job.args, p.Size()))
}
