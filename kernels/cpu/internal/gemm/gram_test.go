package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestGram: a matrix times its transpose has the bits of a product with a copy of it, whichever of the two is stored
// transposed, and nothing is written beyond the rows of C.
func TestGram(t *testing.T) {
	for _, workers := range []int{1, 3} {
		p := pool.New(workers)
		t.Run(fmt.Sprint("float32 ", workers), func(t *testing.T) { testGram[float32](t, p) })
		t.Run(fmt.Sprint("float64 ", workers), func(t *testing.T) { testGram[float64](t, p) })
		p.Close()
	}
}

func testGram[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(5, 9))
	halved := 0
	for i := range 60 {
		n, k := 1+rng.IntN(330), 1+rng.IntN(700)
		if i%10 == 0 {
			n = 400 + rng.IntN(300)
		}
		trans, gap, batch := rng.IntN(2) == 0, rng.IntN(3), 1+rng.IntN(2)
		a := Args[T]{M: n, N: n, K: k, TransA: trans, TransB: !trans, LDC: n + gap, ReLU: rng.IntN(4) == 0, Batch: [2]int{1, batch}}
		rows, cols := n, k
		if trans {
			rows, cols = k, n
		}
		a.LDA, a.LDB = cols+gap, cols+gap
		a.StrideA = [2]int{0, rows * a.LDA}
		a.StrideB, a.StrideC = a.StrideA, [2]int{0, n * a.LDC}
		a.A = random[T](rng, batch*rows*a.LDA)
		a.B = append([]T(nil), a.A...)
		want := run(p, a)
		a.B, a.Gram = a.A, true
		require.Equal(t, want, run(p, a), "%d x %d, transposed %v, %d workers", n, k, trans, p.Size())
		g := a.normal()
		if plan := newPlan(&g, p.Size()); plan.gram {
			halved++
		}
	}
	require.Greater(t, halved, 20, "products of which half is computed")
}

// run returns C, filled with NaN before.
func run[T Float](p *pool.Pool, a Args[T]) []uint64 {
	a.C = make([]T, a.Batch[1]*a.StrideC[1])
	for i := range a.C {
		a.C[i] = T(math.NaN())
	}
	Run(p, &a, make([]T, ScratchSize(&a, p.Size())))
	bits := make([]uint64, len(a.C))
	for i, v := range a.C {
		bits[i] = math.Float64bits(float64(v))
	}
	return bits
}
