package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// drawEdge draws a product of one of these kinds: short sums, which go through all panels in one call; few columns,
// which use vectors of half the length on some processors; few rows with a large transposed B; rows that read B in
// place or from panels.
func drawEdge[T Float](rng *rand.Rand, kind int) *Args[T] {
	a := &Args[T]{M: 1 + rng.IntN(70), N: 1 + rng.IntN(200), K: 1 + rng.IntN(64), TransA: rng.IntN(3) == 0, TransB: rng.IntN(3) == 0, Accumulate: rng.IntN(4) == 0, ReLU: rng.IntN(3) == 0}
	switch kind {
	case 0: // short sums, through two panels or more
		a.N = 33 + rng.IntN(300)
		a.Packed = rng.IntN(3) == 0
	case 1: // the last panel has a half vector or less
		a.N = []int{1, 1, 33, 65, 17, 49, 9, 25}[rng.IntN(8)] + rng.IntN(8)
		a.K, a.Packed = 1+rng.IntN(150), rng.IntN(4) == 0
	case 2: // panels of a large transposed B
		a.M, a.N, a.K, a.TransA, a.TransB = 1+rng.IntN(4), 200+rng.IntN(500), 520+rng.IntN(700), rng.IntN(2) == 0, rng.IntN(8) > 0
		a.N = max(a.N, 1<<17/a.K+1)
	case 3: // B in place for many rows
		a.M, a.N, a.K, a.TransB = 60+rng.IntN(200), 1+rng.IntN(100), 1+rng.IntN(100), false
	}
	if kind < 2 && rng.IntN(3) == 0 {
		a.Batch, a.M = [2]int{1 + rng.IntN(2), 1 + rng.IntN(3)}, 1+rng.IntN(20)
		a.Packed = false
	}
	return a
}

// guardOperands allocates the operands of a, with NaN in their gaps, next to unreadable memory.
func guardOperands[T Float](t *testing.T, rng *rand.Rand, a *Args[T], atStart bool) {
	t.Helper()
	batch := [2]int{max(a.Batch[0], 1), max(a.Batch[1], 1)}
	spread := func(rows, cols int, trans, repeated bool) (x []T, ld int, strides [2]int) {
		if trans {
			rows, cols = cols, rows
		}
		ld = cols + rng.IntN(2)*rng.IntN(9)
		size := (rows-1)*ld + cols
		if !repeated {
			strides[1] = size + rng.IntN(5)
			strides[0] = batch[1]*strides[1] + rng.IntN(5)
		}
		x = make([]T, (batch[0]-1)*strides[0]+(batch[1]-1)*strides[1]+size)
		for i := range x {
			x[i] = T(math.NaN())
		}
		for e := range batch[0] * batch[1] {
			for r := range rows {
				at := e/batch[1]*strides[0] + e%batch[1]*strides[1] + r*ld
				copy(x[at:at+cols], random[T](rng, cols))
			}
		}
		return guard.Copy(t, x, atStart), ld, strides
	}
	a.A, a.LDA, a.StrideA = spread(a.M, a.K, a.TransA, rng.IntN(4) == 0)
	a.B, a.LDB, a.StrideB = spread(a.K, a.N, a.TransB, a.Packed || rng.IntN(4) == 0)
	a.C, a.LDC, a.StrideC = spread(a.M, a.N, false, false)
	if rng.IntN(3) > 0 {
		a.Bias = guard.Copy(t, random[T](rng, a.N), atStart)
	}
	if a.Packed {
		a.Batch = [2]int{}
	}
}

// TestEdgesOfProducts compares products with float64, on processors that compute vectors in halves and on others. All
// operands and the scratch memory are next to unreadable memory, with NaN in everything that products leave out.
func TestEdgesOfProducts(t *testing.T) {
	draws := 120
	if testing.Short() {
		draws = 24
	}
	pools := []*pool.Pool{pool.New(1), pool.New(2)}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for i := range draws {
				rng := rand.New(rand.NewPCG(27, uint64(i)))
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					checkEdges(t, pools, rng, drawEdge[float32](rng, i%4), i%3 == 2)
					checkEdges(t, pools, rng, drawEdge[float64](rng, i%4), i%3 == 2)
				})
			}
		})
	}
	for _, p := range pools {
		p.Close()
	}
}

// checkEdges computes a product in all ways.
func checkEdges[T Float](t *testing.T, pools []*pool.Pool, rng *rand.Rand, a *Args[T], atStart bool) {
	t.Helper()
	guardOperands(t, rng, a, atStart)
	want, bound := product64(a)
	if b := a.B; a.Packed {
		a.B = guard.Copy(t, make([]T, PackedSize[T](a.N, a.K)), atStart)
		PackB(nil, a.B, b, a.K, a.N, a.LDB, a.TransB)
		a.TransB, a.LDB = false, 0
	}
	before := append([]T(nil), a.C...)
	var bits []T
	for i, half := range []bool{false, true, false, true} {
		p := pools[i/2]
		restore := isa.OverrideHalfUnits(half)
		copy(a.C, before)
		scratch := make([]T, ScratchSize(a, p.Size())+1)
		for i := range scratch {
			scratch[i] = T(math.NaN())
		}
		Run(p, a, guard.Copy(t, scratch, atStart))
		restore()
		for e, c := range a.C {
			if off := math.Abs(float64(c) - want[e]); !(off <= bound[e]) && !(bound[e] == 0 && math.IsNaN(float64(c)) && math.IsNaN(want[e])) {
				t.Fatalf("element %d is %v, expected %v: %s, halves %v, %d workers", e, c, want[e], sizes(a), half, p.Size())
			}
		}
		if bits == nil {
			bits = append(bits, a.C...)
		}
		for e, c := range a.C {
			if bits[e] != c && c == c {
				t.Fatalf("element %d has other bits: %s, halves %v, %d workers", e, sizes(a), half, p.Size())
			}
		}
	}
	require.Len(t, want, len(a.C))
}

func sizes[T Float](a *Args[T]) string {
	return fmt.Sprintf("M %d, N %d, K %d, A transposed %v, B %v, in panels %v, batch %v, strides %d, %d, %d, bias %v, ReLU %v, accumulate %v",
		a.M, a.N, a.K, a.TransA, a.TransB, a.Packed, a.Batch, a.LDA, a.LDB, a.LDC, a.Bias != nil, a.ReLU, a.Accumulate)
}

// product64 is the expected C, and the largest rounding error of each number. Numbers that are not part of C do not
// change.
func product64[T Float](a *Args[T]) (want, bound []float64) {
	want, bound = make([]float64, len(a.C)), make([]float64, len(a.C))
	for i, c := range a.C {
		want[i] = float64(c)
	}
	step := func(trans bool, ld int) (row, col int) {
		if trans {
			return 1, ld
		}
		return ld, 1
	}
	rowA, sumA := step(a.TransA, a.LDA)
	sumB, colB := step(a.TransB, a.LDB)
	entries := max(a.Batch[1], 1)
	for e := range max(a.Batch[0], 1) * entries {
		matrixA, matrixB := a.A[e/entries*a.StrideA[0]+e%entries*a.StrideA[1]:], a.B[e/entries*a.StrideB[0]+e%entries*a.StrideB[1]:]
		first := e/entries*a.StrideC[0] + e%entries*a.StrideC[1]
		for m := range a.M {
			for n := range a.N {
				at := first + m*a.LDC + n
				sum, size := 0.0, 0.0
				if a.Accumulate {
					sum = want[at]
				}
				if a.Bias != nil {
					sum += float64(a.Bias[n])
					size += math.Abs(float64(a.Bias[n]))
				}
				size += math.Abs(sum)
				for k := range a.K {
					x := float64(matrixA[m*rowA+k*sumA]) * float64(matrixB[k*sumB+n*colB])
					sum += x
					size += math.Abs(x)
				}
				if a.ReLU {
					sum = max(sum, 0)
				}
				want[at], bound[at] = sum, epsilon[T]()*float64(a.K+3)*size
			}
		}
	}
	return want, bound
}
