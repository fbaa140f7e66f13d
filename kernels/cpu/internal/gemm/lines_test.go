package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestBeginWithinLine: a B with rows of whole cache lines that begins within a line is packed from the same number of
// rows of A on as any other B, whether a product runs once or is prepared. It has the bits and the scratch memory of a
// B that begins at a line.
func TestBeginWithinLine(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, workers := range []int{1, 3} {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				p := pool.New(workers)
				defer p.Close()
				testBeginWithinLine[float32](t, p)
				testBeginWithinLine[float64](t, p)
			})
		}
	}
}

func testBeginWithinLine[T Float](t *testing.T, p *pool.Pool) {
	defer isa.OverrideHalfUnits(false)()
	r := rand.New(rand.NewPCG(51, 52))
	asks := isa.Active().Has(isa.Vectors512) && !computesHalves()
	for _, batch := range [][2]int{{1, 1}, {1, 2}} {
		m, n, k := packMinRows+r.IntN(packNextRows-packMinRows), 64+16*r.IntN(6), 600+r.IntN(40)
		a := Args[T]{M: m, N: n, K: k, LDB: n, Batch: batch}
		entries := batch[0] * batch[1]
		if entries > 1 {
			a.StrideA, a.StrideB, a.StrideC = [2]int{3 * m * k, m * k}, [2]int{3 * k * a.LDB, k * a.LDB}, [2]int{3 * m * n, m * n}
		}
		a.A, a.B = random[T](r, entries*m*k), random[T](r, entries*k*a.LDB)
		q := a.normal()
		require.Equal(t, asks, q.dependsOnStart())
		plain, across := newPlan(&q, 1), q
		across.across = true
		packs := newPlan(&across, 1)
		require.NotEqual(t, inPlace, packs.source)
		require.Equal(t, asks, plain.source == inPlace || plain.source == local && packs.source != local)
		scratch := make([]T, ScratchSize(&a, p.Size()))
		require.LessOrEqual(t, plain.scratchSize(&q, 1), len(scratch))
		require.LessOrEqual(t, packs.scratchSize(&across, 1), len(scratch))
		product := Prepare(&a, p.Size())
		require.Equal(t, len(scratch), product.ScratchSize())
		var want []T
		for _, off := range []int{0, 1, 6} {
			b, c := make([]T, off+len(a.B)), make([]T, entries*m*n)
			copy(b[off:], a.B)
			a.C, a.B = c, b[off:]
			Run(p, &a, scratch)
			if off == 0 {
				want = c
			}
			require.Equal(t, want, c)
			c = make([]T, len(c))
			product.Run(p, a.A, a.B, c, nil, scratch)
			require.Equal(t, want, c)
		}
		require.Zero(t, testing.AllocsPerRun(10, func() { product.Run(p, a.A, a.B, a.C, nil, scratch) }))
	}
}
