package gemm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestSweep compares products of short sums, whose rows go through all panels, with products by one panel at a time:
// the bits are the same.
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
	for range 40 {
		a := &Args[T]{M: 1 + rng.IntN(packMinRows+100), N: 40 + rng.IntN(700), K: 1 + rng.IntN(sweepSums), TransA: rng.IntN(2) == 0, TransB: rng.IntN(2) == 0,
			Accumulate: rng.IntN(2) == 0, ReLU: rng.IntN(3) == 0}
		fill(rng, a, rng.IntN(3), rng.IntN(2) == 0)
		whole, want := *a, append([]T(nil), a.C...)
		n := a.normal()
		if plan := newPlan(&n, p.Size()); !plan.transposed && !plan.narrow {
			require.True(t, plan.sweeps)
		}
		if n.Ahead = [][]T{a.A}; a.M > packMinRows {
			require.False(t, newPlan(&n, p.Size()).sweeps, "what is to be fetched ahead has to be")
		}
		if rng.IntN(3) == 0 {
			packed := make([]T, PackedSize[T](a.N, a.K))
			PackB(p, packed, a.B, a.K, a.N, a.LDB, a.TransB)
			a.B, a.LDB, a.TransB, a.Packed = packed, 0, false, true
		}
		Run(p, a, make([]T, ScratchSize(a, p.Size())))
		for c := 0; c < a.N; c += micro.PanelWidth[T]() {
			panel := whole.normal()
			panel.N = min(micro.PanelWidth[T](), a.N-c)
			panel.C = want[c:]
			if panel.TransB {
				panel.B = panel.B[c*panel.LDB:]
			} else {
				panel.B = panel.B[c:]
			}
			if panel.Bias != nil {
				panel.Bias = panel.Bias[c:]
			}
			Run(p, &panel, make([]T, ScratchSize(&panel, p.Size())))
		}
		require.Equal(t, want, a.C, "M %d, N %d, K %d", a.M, a.N, a.K)
	}
}

// TestSweepBatch draws batches of products of short sums whose last panel is incomplete, which each worker packs, and
// compares them, bit for bit, with the products of their entries.
func TestSweepBatch(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				testSweepBatch[float32](t, p)
				testSweepBatch[float64](t, p)
			})
		}
	}
}

func testSweepBatch[T Float](t *testing.T, p *pool.Pool) {
	rng, ends := rand.New(rand.NewPCG(25, 26)), 0
	for range 40 {
		a := &Args[T]{M: 2 + rng.IntN(packMinRows-2), N: 100 + rng.IntN(3000), K: 1 + rng.IntN(sweepSums), TransA: rng.IntN(2) == 0,
			Accumulate: rng.IntN(3) == 0, ReLU: rng.IntN(3) == 0, Batch: [2]int{1 + rng.IntN(2), 2 + rng.IntN(3)}}
		sizes := [3]int{a.M * a.K, a.K * a.N, a.M * a.N}
		for i, strides := range []*[2]int{&a.StrideA, &a.StrideB, &a.StrideC} {
			*strides = [2]int{a.Batch[1] * sizes[i], sizes[i]}
		}
		if rng.IntN(2) == 0 {
			a.StrideA = [2]int{}
		}
		batch := a.Batch[0] * a.Batch[1]
		a.A, a.B, a.C = random[T](rng, batch*sizes[0]), random[T](rng, batch*sizes[1]), random[T](rng, batch*sizes[2])
		if rng.IntN(2) == 0 {
			a.Bias = random[T](rng, a.N)
		}
		n := a.normal()
		if plan := newPlan(&n, p.Size()); plan.ends {
			require.True(t, plan.sweeps)
			ends++
		}
		want := append([]T(nil), a.C...)
		Run(p, a, make([]T, ScratchSize(a, p.Size())))
		for i := range batch {
			one := a.normal()
			one.Batch, one.StrideA, one.StrideB, one.StrideC = [2]int{1, 1}, [2]int{}, [2]int{}, [2]int{}
			one.A, one.B, one.C = a.A[i*a.StrideA[1]:], a.B[i*sizes[1]:], want[i*sizes[2]:]
			Run(p, &one, make([]T, ScratchSize(&one, p.Size())))
		}
		require.True(t, slices.Equal(want, a.C), "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.Greater(t, ends, 10)
}

// TestSweepFewRows draws products of a few rows by a matrix in panels, which go through all panels in one call, and
// compares them, bit for bit, with the products by each of the panels.
func TestSweepFewRows(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				testSweepFewRows[float32](t, p)
				testSweepFewRows[float64](t, p)
			})
		}
	}
}

func testSweepFewRows[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(23, 24))
	swept := 0
	for range 60 {
		a := &Args[T]{M: 2 + rng.IntN(sweepRows-1), N: 1 + rng.IntN(300), K: 1 + rng.IntN(200), ReLU: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0}
		if rng.IntN(6) == 0 { // enough for several workers
			a.N, a.K = 600+rng.IntN(600), 100+rng.IntN(110)
		}
		a.LDA, a.LDC = a.K+rng.IntN(3), a.N+rng.IntN(3)
		a.A, a.B, a.C = random[T](rng, a.M*a.LDA), random[T](rng, a.K*a.N), random[T](rng, a.M*a.LDC)
		if rng.IntN(4) > 0 {
			a.Bias = random[T](rng, a.N)
		}
		if rng.IntN(3) == 0 { // NaN stays NaN, in its row
			a.A[rng.IntN(a.M*a.LDA)] = T(math.NaN())
		}
		packed := make([]T, PackedSize[T](a.N, a.K))
		PackB(p, packed, a.B, a.K, a.N, 0, false)
		a.B, a.Packed = packed, true
		if rng.IntN(2) == 0 {
			a.Ahead = [][]T{random[T](rng, rng.IntN(3000)), nil, random[T](rng, 5)}
		}
		product, want := Prepare(a, p.Size()), append([]T(nil), a.C...)
		if product.plans.alone.sweeps {
			swept++
		}
		product.RunAhead(p, a.A, a.B, a.C, a.Bias, make([]T, product.ScratchSize()), a.Ahead)
		for c := 0; c < a.N; c += micro.PanelWidth[T]() {
			panel := *a
			panel.N, panel.B, panel.C = min(micro.PanelWidth[T](), a.N-c), packed[c*a.K:], want[c:]
			if a.Bias != nil {
				panel.Bias = a.Bias[c:]
			}
			Run(p, &panel, make([]T, ScratchSize(&panel, p.Size())))
		}
		for i, w := range want {
			if got := a.C[i]; w != got && (w == w || got == got) {
				t.Fatalf("M %d, N %d, K %d, bias %v, accumulates %v: element %d is %v, expected %v", a.M, a.N, a.K, a.Bias != nil, a.Accumulate, i, got, w)
			}
		}
	}
	require.Greater(t, swept, 8)
}
