package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestWideHalfUnits: if the processor multiplies whole vectors at once, panels are made for any number of rows, rows
// that begin within words are read in place, and a transposed matrix with few columns becomes the right operand. The
// bits are the same, also next to infinities and NaN, and with two workers.
func TestWideHalfUnits(t *testing.T) {
	two := pool.New(2)
	defer two.Close()
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(61, 16))
			turns, packs := 0, 0
			for try := range 60 {
				a := randomWide(r, try)
				var want []uint16
				for i, on := range []bool{true, false, false} {
					restore := isa.OverrideHalfUnits(on)
					n := a.normal()
					p := newHalfPlan(&n, 1, false)
					var workers *pool.Pool
					if i == 2 {
						workers = two
					}
					a.C = make([]uint16, len(a.C))
					RunHalf(workers, &a, make([]float32, HalfScratch(&a, workers.Size())))
					restore()
					if i == 0 {
						want = a.C
						continue
					}
					require.Equal(t, want, a.C, describeHalf(&a))
					if p.turns {
						turns++
					}
					if p.packs {
						packs++
					}
				}
			}
			wide := micro.Pairs() && !micro.Matrices() && path.Has(isa.Vectors512)
			require.Equal(t, wide, turns > 0)
			if !micro.Matrices() { // with matrix registers, B is packed only for more rows than these
				require.Equal(t, wide, packs > 0)
			}
		})
	}
}

// randomWide draws a product of bfloat16 of many rows; every third has a number that is not finite.
func randomWide(r *rand.Rand, try int) HalfArgs {
	a := HalfArgs{Type: vec.BFloat16, M: 20 + r.IntN(320), N: 1 + r.IntN(90), K: 1 + r.IntN(70), TransB: r.IntN(3) == 0, ReLU: r.IntN(4) == 0}
	if try%20 == 19 {
		a.M, a.K = 30+r.IntN(40), 1024+r.IntN(300)
	}
	batch := 1
	if r.IntN(4) == 0 {
		batch = 2
	}
	a.LDA, a.Batch = a.K+r.IntN(2), [2]int{batch, 1}
	a.StrideA, a.StrideB, a.StrideC = [2]int{a.M * a.LDA}, [2]int{a.K * a.N}, [2]int{a.M * a.N}
	a.A, _ = halves(r, a.Type, batch*a.M*a.LDA-(a.LDA-a.K)) // nothing after the last row
	a.B, _ = halves(r, a.Type, batch*a.K*a.N)
	a.C = make([]uint16, batch*a.M*a.N)
	if try%3 == 0 {
		const infinity = 0x7f80
		a.A[r.IntN(batch*a.M)*a.LDA] = infinity
	}
	return a
}

// TestFewColumnsOfTransposed: a transposed matrix times few columns has the bits of the same matrix stored by rows.
func TestFewColumnsOfTransposed(t *testing.T) {
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(62, 16))
			seen := 0
			for try := range 40 {
				const batch = 2
				a := HalfArgs{Type: vec.BFloat16, M: 20 + r.IntN(200), N: 1 + r.IntN(10), K: 1 + r.IntN(80), TransA: true, TransB: r.IntN(2) == 0, Batch: [2]int{batch, 1}}
				if try%4 == 0 { // the result is a row
					a.N = 1
				}
				a.StrideA, a.StrideB, a.StrideC = [2]int{a.M * a.K}, [2]int{a.K * a.N}, [2]int{a.M * a.N}
				a.A, _ = halves(r, a.Type, batch*a.M*a.K)
				a.B, _ = halves(r, a.Type, batch*a.K*a.N)
				if a.N > 1 && r.IntN(2) == 0 {
					a.Bias, _ = halves(r, a.Type, a.N)
				}
				b := a
				b.TransA, b.A = false, make([]uint16, len(a.A))
				for e := range batch {
					for m := range a.M {
						for k := range a.K {
							b.A[e*a.M*a.K+m*a.K+k] = a.A[e*a.M*a.K+k*a.M+m]
						}
					}
				}
				for _, x := range []*HalfArgs{&a, &b} {
					x.C = make([]uint16, batch*a.M*a.N)
					RunHalf(nil, x, make([]float32, HalfScratch(x, 1)))
				}
				require.Equal(t, b.C, a.C, describeHalf(&a))
				if n := a.normal(); n.fewColumns(leastTurned) {
					seen++
				}
			}
			require.Equal(t, micro.Pairs() && !micro.Matrices(), seen > 0)
		})
	}
}
