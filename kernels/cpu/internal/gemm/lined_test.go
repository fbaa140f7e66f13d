package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// drawLined draws a batch of small products. Their operands are stored matrix after matrix, or interleaved, or shared.
func drawLined[T Float](rng *rand.Rand) *Args[T] {
	flags := rng.IntN(64)
	a := &Args[T]{M: 1 + rng.IntN(20), N: 1 + rng.IntN(40), K: 1 + rng.IntN(12), TransA: flags&1 != 0, TransB: flags&2 != 0,
		Accumulate: flags&4 != 0, ReLU: flags&8 != 0, Batch: [2]int{1 + rng.IntN(5), 1 + rng.IntN(70)}}
	if flags&16 != 0 {
		a.Batch[0], a.Batch[1] = a.Batch[1], a.Batch[0]
	}
	for _, small := range []*int{&a.M, &a.N, &a.K} {
		if rng.IntN(4) == 0 {
			*small = 1 + rng.IntN(2)
		}
	}
	if rng.IntN(8) == 0 { // several blocks of sums
		a.M, a.N, a.K = 1+rng.IntN(3), 1+rng.IntN(18), 500+rng.IntN(700)
		a.Batch[0], a.Batch[1] = min(a.Batch[0], 5), min(a.Batch[1], 5)
	}
	place := func(rows, cols int, output bool) (x []T, ld int, strides [2]int) {
		ld = cols + rng.IntN(3)
		strides = [2]int{a.Batch[1] * rows * ld, rows * ld}
		switch kind := rng.IntN(4); {
		case kind == 0: // [row, batch, batch, column]
			ld = a.Batch[0] * a.Batch[1] * cols
			strides = [2]int{a.Batch[1] * cols, cols}
		case kind == 1 && !output: // shared by one axis, or by both
			strides[rng.IntN(2)] = 0
			strides[rng.IntN(2)] = 0
		}
		n := (a.Batch[0]-1)*strides[0] + (a.Batch[1]-1)*strides[1] + (rows-1)*ld + cols
		x = random[T](rng, n)[:n:n]
		x[rng.IntN(n)] = T(math.Inf(rng.IntN(2)*2 - 1))
		x[rng.IntN(n)] = 0
		return x, ld, strides
	}
	turned := func(rows, cols int, trans bool) (int, int) {
		if trans {
			return cols, rows
		}
		return rows, cols
	}
	rows, cols := turned(a.M, a.K, a.TransA)
	a.A, a.LDA, a.StrideA = place(rows, cols, false)
	rows, cols = turned(a.K, a.N, a.TransB)
	a.B, a.LDB, a.StrideB = place(rows, cols, false)
	a.C, a.LDC, a.StrideC = place(a.M, a.N, true)
	if flags&32 != 0 {
		a.Bias = random[T](rng, a.N)
	}
	return a
}

// TestLined compares random batches of small products with the single products, bit by bit, and those with sums in
// float64, on pools of several sizes.
func TestLined(t *testing.T) {
	draws := 40
	if testing.Short() {
		draws = 12
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for _, workers := range []int{1, 3} {
				p := pool.New(workers)
				rng := rand.New(rand.NewPCG(uint64(workers), 41))
				for range draws {
					checkLined(t, p, drawLined[float32](rng))
					checkLined(t, p, drawLined[float64](rng))
				}
				p.Close()
			}
		})
	}
}

func checkLined[T Float](t *testing.T, p *pool.Pool, a *Args[T]) {
	t.Helper()
	if n := a.normal(); !n.isLined() {
		require.True(t, n.Batch == [2]int{1, 1} || a.TransB && a.StrideB == [2]int{}, "%+v", n)
		return
	}
	want := append([]T(nil), a.C...)
	for e0 := range a.Batch[0] {
		for e1 := range a.Batch[1] {
			one := *a
			at := func(strides [2]int) int { return e0*strides[0] + e1*strides[1] }
			one.A, one.B, one.C, one.Batch = a.A[at(a.StrideA):], a.B[at(a.StrideB):], want[at(a.StrideC):], [2]int{1, 1}
			for m := range one.M {
				for n := range one.N {
					i := m*one.LDC + n
					sum, _ := naive(&one, one.C[i-n:], 0, 0, m, n)
					one.C[i] = T(sum)
				}
			}
		}
	}
	compareLined(t, p, a, want)
}

// compareLined runs a and compares C with the expected values, which include NaN and infinities.
func compareLined[T Float](t *testing.T, p *pool.Pool, a *Args[T], want []T) {
	t.Helper()
	scratch := make([]T, ScratchSize(a, p.Size()))
	for i := range scratch {
		scratch[i] = T(math.NaN())
	}
	c := append([]T(nil), a.C...)
	Run(p, a, scratch)
	for i, w := range want {
		x, y := float64(a.C[i]), float64(w)
		same := x == y || math.IsNaN(x) && math.IsNaN(y)
		if !same && !(math.Abs(x-y) <= epsilon[T]()*float64(a.K+3)*(math.Abs(y)+10*float64(a.K)+10)) {
			t.Fatalf("element %d is %v, expected %v: M %d, N %d, K %d, %v, strides %v %v %v, rows %d %d %d, turned %v %v", i, x, y, a.M, a.N, a.K,
				a.Batch, a.StrideA, a.StrideB, a.StrideC, a.LDA, a.LDB, a.LDC, a.TransA, a.TransB)
		}
	}
	if a.M == 1 { // alone, a row is computed by other kernels
		return
	}
	checkProduct(t, p, &Args[T]{M: a.M, N: a.N, K: a.K, A: finite(a.A), B: finite(a.B), C: rerun(p, a, c), LDA: a.LDA, LDB: a.LDB, LDC: a.LDC, Bias: a.Bias,
		TransA: a.TransA, TransB: a.TransB, Accumulate: a.Accumulate, ReLU: a.ReLU, Batch: a.Batch, StrideA: a.StrideA, StrideB: a.StrideB, StrideC: a.StrideC}, finite(c))
}

// finite returns x with infinities replaced by numbers.
func finite[T Float](x []T) []T {
	y := append([]T(nil), x...)
	for i, v := range y {
		if math.IsInf(float64(v), 0) {
			y[i] = 1
		}
	}
	return y[:len(y):len(y)]
}

// rerun computes the products of the same operands without infinities, one after the other.
func rerun[T Float](p *pool.Pool, a *Args[T], c []T) []T {
	g := *a
	g.A, g.B, g.C = finite(a.A), finite(a.B), finite(c)
	c = g.C
	scratch := make([]T, ScratchSize(a, p.Size()))
	for e0 := range a.Batch[0] {
		for e1 := range a.Batch[1] {
			one := g
			at := func(strides [2]int) int { return e0*strides[0] + e1*strides[1] }
			one.A, one.B, one.C, one.Batch = g.A[at(a.StrideA):], g.B[at(a.StrideB):], c[at(a.StrideC):], [2]int{1, 1}
			if need := ScratchSize(&one, p.Size()); need > len(scratch) {
				scratch = make([]T, need)
			}
			Run(p, &one, scratch)
		}
	}
	return c
}
