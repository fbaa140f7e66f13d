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

// TestHalfSwapped: products of few rows with a transposed matrix, with a bias and relu, have the bits of products with
// that matrix stored the other way. So do batches of them, also with two workers.
func TestHalfSwapped(t *testing.T) {
	two := pool.New(2)
	defer two.Close()
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(7, 8))
			for _, s := range [][4]int{{2, 300, 700, 1}, {33, 520, 40, 1}, {64, 230, 90, 1}, {4, 300, 70, 3}, {3, 40, 1100, 2}, {9, 70, 20, 4}} {
				for _, h := range []vec.Half{vec.BFloat16, vec.Float16} {
					batch := s[3]
					a := HalfArgs{Type: h, M: s[0], N: s[1], K: s[2], TransB: true, ReLU: r.IntN(2) == 0, C: make([]uint16, batch*s[0]*s[1]), Batch: [2]int{batch, 1}}
					a.StrideA, a.StrideB, a.StrideC = [2]int{a.M * a.K}, [2]int{a.K * a.N}, [2]int{a.M * a.N}
					a.A, _ = halves(r, h, batch*a.M*a.K)
					a.B, _ = halves(r, h, batch*a.K*a.N)
					a.Bias, _ = halves(r, h, a.N)
					n := a.normal()
					pairs := newHalfPlan(&n, 1, false).pairs
					require.Equal(t, !pairs, n.swap())
					RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
					plain := a
					plain.TransB, plain.B, plain.C = false, make([]uint16, len(a.B)), make([]uint16, len(a.C))
					for i := range plain.B {
						entry, k, c := i/(a.K*a.N), i/a.N%a.K, i%a.N
						plain.B[i] = a.B[entry*a.K*a.N+c*a.K+k]
					}
					RunHalf(nil, &plain, make([]float32, HalfScratch(&plain, 1)))
					require.Equal(t, plain.C, a.C, describeHalf(&a))
					clear(a.C)
					RunHalf(two, &a, make([]float32, HalfScratch(&a, two.Size())))
					require.Equal(t, plain.C, a.C, describeHalf(&a))
				}
			}
		})
	}
}

// TestHalfTurnsLess: products of a transposed A that has more rows than B has columns have the bits of products with A
// stored the other way, also with several workers. With matrix registers they are computed as their transposes.
func TestHalfTurnsLess(t *testing.T) {
	testHalfTurned(t, [][3]int{{144, 16, 2300}, {300, 1, 301}, {70, 33, 1200}, {600, 40, 2100}}, true)
}

// TestHalfKeepsA: so do products with more columns, which keep the transposed rows of A for each chunk of them, also
// with long sums.
func TestHalfKeepsA(t *testing.T) {
	testHalfTurned(t, [][3]int{{64, 600, 2100}, {128, 300, 2048}, {33, 520, 1025}, {20, 300, 9000}, {5, 530, 60}}, false)
}

func testHalfTurned(t *testing.T, shapes [][3]int, swaps bool) {
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(11, 12))
			for _, s := range shapes {
				a := HalfArgs{Type: vec.BFloat16, M: s[0], N: s[1], K: s[2], TransA: true, ReLU: r.IntN(2) == 0, C: make([]uint16, s[0]*s[1])}
				a.A, _ = halves(r, a.Type, a.M*a.K)
				a.B, _ = halves(r, a.Type, a.K*a.N)
				a.Bias, _ = halves(r, a.Type, a.N)
				plain := a
				plain.TransA, plain.A, plain.C = false, make([]uint16, len(a.A)), make([]uint16, len(a.C))
				for k := range a.K {
					for m := range a.M {
						plain.A[m*a.K+k] = a.A[k*a.M+m]
					}
				}
				RunHalf(nil, &plain, make([]float32, HalfScratch(&plain, 1)))
				for _, workers := range []int{1, 3} {
					n := a.normal()
					few := n.fewColumns(leastTurned) // transposed too, except for a single column with a bias
					require.Equal(t, few || swaps && micro.Pairs() && micro.Matrices(), n.swap(), describeHalf(&a))
					p := pool.New(workers)
					clear(a.C)
					RunHalf(p, &a, make([]float32, HalfScratch(&a, p.Size())))
					p.Close()
					require.Equal(t, plain.C, a.C, describeHalf(&a))
				}
			}
		})
	}
}

// TestHalfSwappedAllocates: the input gradient of a layer with many outputs, which is such a product, is computed at
// every step, and must not allocate.
func TestHalfSwappedAllocates(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	const m, n, k = 4, 300, 9000
	a := HalfArgs{Type: vec.Float16, M: m, N: n, K: k, TransB: true, A: make([]uint16, m*k), B: make([]uint16, n*k), C: make([]uint16, m*n)}
	normal := a.normal()
	require.True(t, normal.swap())
	scratch := make([]float32, HalfScratch(&a, p.Size()))
	require.Zero(t, testing.AllocsPerRun(10, func() { RunHalf(p, &a, scratch) }))
}

// TestHalfRowTransposed: a row times a small square matrix that is stored transposed.
func TestHalfRowTransposed(t *testing.T) {
	for _, path := range halfPaths() {
		defer isa.Override(path)()
		r := rand.New(rand.NewPCG(9, 10))
		a := HalfArgs{Type: vec.Float16, M: 1, N: 20, K: 20, TransB: true, C: make([]uint16, 20)}
		a.A, _ = halves(r, a.Type, 20)
		a.B, _ = halves(r, a.Type, 400)
		RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
		plain := a
		plain.TransB, plain.B, plain.C = false, make([]uint16, 400), make([]uint16, 20)
		for i, v := range a.B {
			plain.B[i%20*20+i/20] = v
		}
		RunHalf(nil, &plain, make([]float32, HalfScratch(&plain, 1)))
		require.Equal(t, plain.C, a.C, path)
	}
}
