package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// inputGradients are products that are computed as their transposes.
var inputGradients = []Args[float32]{
	{M: 64, N: 512, K: 512, TransB: true},
	{M: 16, N: 100, K: 90, TransB: true, ReLU: true},
	{M: 15, N: 57, K: 1100, TransB: true, ReLU: true}, // several blocks of sums
	{M: 31, N: 400, K: 133, TransB: true, TransA: true},
	{M: 127, N: 333, K: 800, TransB: true},
	{M: 3, N: 260, K: 530, TransB: true}, // few rows, a large B
	{M: 20, N: 900, K: 150, TransB: true},
}

func transposed(a *Args[float32]) bool {
	n := a.normal()
	return n.isTransposed()
}

func TestTransposed(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	counts, pads := []int{1, 2, 3, 7}, []int{0, 3}
	if testing.Short() { // under the race detector the plain loops that they are compared with take minutes
		counts, pads = []int{3}, []int{3}
	}
	defer isa.OverrideHalfUnits(false)()
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for _, workers := range counts {
				p := pool.New(workers)
				for _, g := range inputGradients {
					for _, pad := range pads {
						a := g
						fill(rng, &a, pad, false)
						require.True(t, transposed(&a), "%+v", g)
						check(t, p, &a)
						wide := Args[float64]{M: g.M, N: g.N, K: g.K, TransA: g.TransA, TransB: g.TransB, ReLU: g.ReLU}
						fill(rng, &wide, pad, false)
						check(t, p, &wide)
					}
				}
				p.Close()
			}
		})
	}
}

// TestTransposedSameBits compares with the product of a B that is stored the other way, which is not computed as its
// transpose.
func TestTransposedSameBits(t *testing.T) {
	defer isa.OverrideHalfUnits(false)()
	rng := rand.New(rand.NewPCG(23, 24))
	p := pool.New(2)
	defer p.Close()
	for _, g := range inputGradients {
		a := g
		fill(rng, &a, 0, false)
		b := a
		b.TransB, b.LDB, b.B, b.C = false, 0, make([]float32, len(a.B)), make([]float32, len(a.C))
		for n := range a.N {
			for k := range a.K {
				b.B[k*a.N+n] = a.B[n*a.K+k]
			}
		}
		require.True(t, transposed(&a))
		require.False(t, transposed(&b))
		for _, x := range []*Args[float32]{&a, &b} {
			Run(p, x, make([]float32, ScratchSize(x, p.Size())))
		}
		require.Equal(t, b.C, a.C)
	}
}

// TestFewRows draws products of few rows with a large transposed B, whose panels are made in the cache on processors
// that compute vectors in halves, and compares them, bit for bit, with the results on other processors.
func TestFewRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				testFewRows[float32](t, rng, p)
				testFewRows[float64](t, rng, p)
			})
		}
	}
}

func testFewRows[T Float](t *testing.T, rng *rand.Rand, p *pool.Pool) {
	packed := 0
	for range 6 {
		a := Args[T]{M: 1 + rng.IntN(packFewRows+2), K: sweepSums + 1 + rng.IntN(1200), TransA: rng.IntN(3) == 0, TransB: true, ReLU: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0}
		a.N = turnMinBytes/int(sizeOf[T]())/a.K + rng.IntN(60)
		fill(rng, &a, rng.IntN(2)*3, rng.IntN(4) == 0)
		var results [2][]T
		for i, on := range []bool{false, true} {
			restore := isa.OverrideHalfUnits(on)
			b := a
			b.C = append([]T(nil), a.C...)
			if n := b.normal(); n.packsFew() {
				packed++
			}
			Run(p, &b, make([]T, ScratchSize(&b, p.Size())))
			restore()
			results[i] = b.C
		}
		require.Equal(t, results[0], results[1], "M %d, N %d, K %d", a.M, a.N, a.K)
	}
	require.Equal(t, isa.Active().Has(isa.Vectors512), packed > 0)
}

// TestNotTransposed lists products for which the transpose would be wrong or slower.
func TestNotTransposed(t *testing.T) {
	for name, change := range map[string]func(*Args[float32]){
		"B not transposed": func(a *Args[float32]) { a.TransB = false },
		"packed B":         func(a *Args[float32]) { a.Packed = true },
		"added":            func(a *Args[float32]) { a.Accumulate = true },
		"bias":             func(a *Args[float32]) { a.Bias = make([]float32, a.N) },
		"batch":            func(a *Args[float32]) { a.Batch = [2]int{1, 2} },
		"many rows":        func(a *Args[float32]) { a.M = 2048 },
		"half a vector":    func(a *Args[float32]) { a.M, a.N, a.K = 8, 200, 200 },
		"few columns":      func(a *Args[float32]) { a.N = 10 },
	} {
		a := &Args[float32]{M: 64, N: 512, K: 512, TransB: true}
		require.True(t, transposed(a))
		change(a)
		require.False(t, transposed(a), name)
	}
}

func TestTransposedKeepsNaN(t *testing.T) {
	a := inputGradients[1]
	fill(rand.New(rand.NewPCG(25, 26)), &a, 0, false)
	a.A[5*a.K+3] = float32(math.NaN())
	Run(nil, &a, make([]float32, ScratchSize(&a, 1)))
	for n := range a.N {
		require.True(t, math.IsNaN(float64(a.C[5*a.N+n])), "column %d", n)
		require.False(t, math.IsNaN(float64(a.C[4*a.N+n])), "column %d", n)
	}
}
