package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestVectors compares batches of matrices times vectors, bit by bit, with the single products, and with sums in
// float64: matrices of few and of many rows, stored as they are or transposed, side by side or one after the other, or
// shared along an axis.
func TestVectors(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(1, 57))
			for _, workers := range []int{1, 3} {
				p := pool.New(workers)
				for range 30 {
					checkVectors(t, p, drawVectors[float32](rng))
					checkVectors(t, p, drawVectors[float64](rng))
				}
				p.Close()
			}
		})
	}
}

// drawVectors draws a batch of products with vectors whose results are vectors in memory.
func drawVectors[T Float](rng *rand.Rand) *Args[T] {
	a := &Args[T]{M: 2 + rng.IntN(40), N: 1, K: 1 + rng.IntN(40), Batch: [2]int{1 + rng.IntN(4), 1 + rng.IntN(40)},
		TransA: rng.IntN(2) == 0, TransB: rng.IntN(2) == 0, ReLU: rng.IntN(4) == 0, Accumulate: rng.IntN(4) == 0, LDC: 1}
	if rng.IntN(6) == 0 { // too large to be lines of a tile, and sums of several blocks
		a.M, a.K, a.Batch[1] = 100+rng.IntN(200), 300+rng.IntN(400), 1+rng.IntN(3)
	}
	rows, cols := a.M, a.K
	if a.TransA {
		rows, cols = cols, rows
	}
	a.LDA = cols + rng.IntN(3)
	a.StrideA = [2]int{a.Batch[1] * rows * a.LDA, rows * a.LDA}
	if rng.IntN(4) == 0 { // rows of all matrices in turn
		a.LDA, a.StrideA = a.Batch[0]*a.Batch[1]*cols, [2]int{a.Batch[1] * cols, cols}
	}
	if rng.IntN(3) == 0 {
		a.StrideA[rng.IntN(2)] = 0
	}
	a.LDB, a.StrideB = 1, [2]int{a.Batch[1] * a.K, a.K}
	if a.TransB {
		a.LDB = a.K
	} else if rng.IntN(3) == 0 { // numbers of all vectors in turn
		a.LDB, a.StrideB = a.Batch[0]*a.Batch[1], [2]int{a.Batch[1], 1}
	}
	a.StrideC = [2]int{a.Batch[1] * (a.M + 2), a.M + 2}
	room := func(strides [2]int, rows, cols, ld int) []T {
		n := (a.Batch[0]-1)*strides[0] + (a.Batch[1]-1)*strides[1] + (rows-1)*ld + cols
		return random[T](rng, n)[:n:n]
	}
	a.A, a.C = room(a.StrideA, rows, cols, a.LDA), room(a.StrideC, a.M, 1, 1)
	if a.B = room(a.StrideB, a.K, 1, a.LDB); a.TransB {
		a.B = room(a.StrideB, 1, a.K, a.LDB)
	}
	return a
}

func checkVectors[T Float](t *testing.T, p *pool.Pool, a *Args[T]) {
	t.Helper()
	before := append([]T(nil), a.C...)
	scratch := make([]T, ScratchSize(a, p.Size()))
	Run(p, a, scratch)
	checkProduct(t, p, a, before)
	after := a.C
	for e0 := range a.Batch[0] {
		for e1 := range a.Batch[1] {
			one := *a
			at := func(strides [2]int) int { return e0*strides[0] + e1*strides[1] }
			first := at(a.StrideC)
			one.A, one.B, one.C, one.Batch = a.A[at(a.StrideA):], a.B[at(a.StrideB):], append([]T(nil), before[first:first+a.M]...), [2]int{1, 1}
			for m := range a.M {
				sum, size := naive(&one, one.C[m:], 0, 0, m, 0)
				if got := float64(after[first+m]); !(math.Abs(sum-got) <= epsilon[T]()*float64(a.K+3)*(size+1)) {
					t.Fatalf("M %d, K %d, row %d: %v, expected %v", a.M, a.K, m, got, sum)
				}
			}
			Run(p, &one, make([]T, ScratchSize(&one, p.Size())))
			require.Equal(t, one.C, after[first:first+a.M], "M %d, K %d, %v %v", a.M, a.K, a.TransA, a.TransB)
			copy(before[first:], after[first:first+a.M])
		}
	}
	require.Equal(t, before, after, "something was written between the results")
}
