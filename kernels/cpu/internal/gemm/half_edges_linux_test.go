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
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfEdges compares products of 16-bit floats with float64, on processors that compute vectors in halves and on
// others, with one and two workers. All operands and the scratch memory are next to unreadable memory, with NaN in
// everything that products leave out. Some have numbers that are not finite.
func TestHalfEdges(t *testing.T) {
	draws := 80
	if testing.Short() {
		draws = 20
	}
	pools := []*pool.Pool{pool.New(1), pool.New(2)}
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for i := range draws {
				rng := rand.New(rand.NewPCG(28, uint64(i)))
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					a := drawHalfEdge(rng)
					guardHalves(t, rng, a, i%3 == 2)
					checkHalfEdges(t, pools, a, i%3 == 2)
				})
			}
		})
	}
	for _, p := range pools {
		p.Close()
	}
}

// drawHalfEdge draws the sizes of a product: of few terms, rows or columns, with rows of odd length, or of any.
func drawHalfEdge(rng *rand.Rand) *HalfArgs {
	size := func() int {
		switch rng.IntN(4) {
		case 0:
			return 1 + rng.IntN(4)
		case 1:
			return 20 + rng.IntN(240)
		}
		return 1 + rng.IntN(70)
	}
	a := &HalfArgs{Type: vec.BFloat16, M: size(), N: size(), K: size(), TransA: rng.IntN(3) == 0, TransB: rng.IntN(3) == 0, ReLU: rng.IntN(4) == 0}
	if rng.IntN(8) == 0 {
		a.Type = vec.Float16
	}
	if rng.IntN(12) == 0 {
		a.K, a.M, a.N = 1000+rng.IntN(1200), 1+rng.IntN(60), 1+rng.IntN(60)
	}
	a.Batch = [2]int{1, 1}
	if rng.IntN(3) == 0 {
		a.Batch = [2]int{1 + rng.IntN(3), 1 + rng.IntN(3)}
	}
	return a
}

const halfNaN = 0x7fff

// guardHalves makes operands of a, with NaN in their gaps.
func guardHalves(t *testing.T, rng *rand.Rand, a *HalfArgs, atStart bool) {
	t.Helper()
	strange := rng.IntN(3) == 0
	spread := func(rows, cols int, trans, repeated bool) (x []uint16, ld int, strides [2]int) {
		if trans {
			rows, cols = cols, rows
		}
		ld = cols + rng.IntN(2)*rng.IntN(9)
		size := (rows-1)*ld + cols
		if !repeated {
			strides[1] = size + rng.IntN(5)
			strides[0] = a.Batch[1]*strides[1] + rng.IntN(5)
		}
		x = make([]uint16, (a.Batch[0]-1)*strides[0]+(a.Batch[1]-1)*strides[1]+size)
		for i := range x {
			x[i] = halfNaN
		}
		for e := range a.Batch[0] * a.Batch[1] {
			for r := range rows {
				row, _ := halves(rng, a.Type, cols)
				at := e/a.Batch[1]*strides[0] + e%a.Batch[1]*strides[1] + r*ld
				if copy(x[at:at+cols], row); strange && rng.IntN(rows) == 0 {
					x[at+rng.IntN(2)*rng.IntN(cols)] = []uint16{halfNaN, infinityOf(a.Type), 0x8000, infinityOf(a.Type) | 0x8000}[rng.IntN(4)]
				}
			}
		}
		return guard.Copy(t, x, atStart), ld, strides
	}
	a.A, a.LDA, a.StrideA = spread(a.M, a.K, a.TransA, rng.IntN(4) == 0)
	a.B, a.LDB, a.StrideB = spread(a.K, a.N, a.TransB, rng.IntN(4) == 0)
	a.C, a.LDC, a.StrideC = spread(a.M, a.N, false, false)
	if rng.IntN(3) > 0 {
		bias, _ := halves(rng, a.Type, a.N)
		a.Bias = guard.Copy(t, bias, atStart)
	}
}

func infinityOf(h vec.Half) uint16 {
	if h == vec.BFloat16 {
		return 0x7f80
	}
	return 0x7c00
}

// checkHalfEdges computes a product in all ways.
func checkHalfEdges(t *testing.T, pools []*pool.Pool, a *HalfArgs, atStart bool) {
	t.Helper()
	before := append([]uint16(nil), a.C...)
	want, bound, within := halfProduct64(a)
	var bits []uint16
	for i, half := range []bool{false, true, false, true} {
		p := pools[i/2]
		restore := isa.OverrideHalfUnits(half)
		copy(a.C, before)
		scratch := make([]float32, HalfScratch(a, p.Size()))
		for i := range scratch {
			scratch[i] = float32(math.NaN())
		}
		RunHalf(p, a, guard.Copy(t, scratch, atStart))
		restore()
		got := make([]float32, len(a.C))
		a.Type.Widen(got, a.C)
		for e, c := range got {
			switch {
			case !within[e]:
				require.Equal(t, before[e], a.C[e], "element %d between rows: %s", e, describeHalf(a))
			case math.IsNaN(want[e]):
				require.True(t, a.ReLU || math.IsNaN(float64(c)), "element %d is %v: %s", e, c, describeHalf(a))
			case math.IsInf(want[e], 0) || math.IsInf(float64(c), 0):
				require.True(t, float64(c) == want[e], "element %d is %v, expected %v: %s", e, c, want[e], describeHalf(a))
			default:
				require.LessOrEqual(t, math.Abs(float64(c)-want[e]), bound[e], "element %d is %v, expected %v: %s, halves %v", e, c, want[e], describeHalf(a), half)
			}
		}
		if bits == nil {
			bits = append(bits, a.C...)
		}
		require.Equal(t, bits, a.C, "bits with halves %v and %d workers: %s", half, p.Size(), describeHalf(a))
	}
}

// halfProduct64 is the product in float64, how far it may be off, and which elements of C belong to it.
func halfProduct64(a *HalfArgs) (want, bound []float64, within []bool) {
	wide := func(x []uint16) []float32 {
		y := make([]float32, len(x))
		a.Type.Widen(y, x)
		return y
	}
	x, y, bias := wide(a.A), wide(a.B), wide(a.Bias)
	want, bound, within = make([]float64, len(a.C)), make([]float64, len(a.C)), make([]bool, len(a.C))
	for e := range a.Batch[0] * a.Batch[1] {
		at := func(s [2]int, row, col, ld int, trans bool) int {
			if trans {
				row, col = col, row
			}
			return e/a.Batch[1]*s[0] + e%a.Batch[1]*s[1] + row*ld + col
		}
		for m := range a.M {
			for n := range a.N {
				sum, size := 0.0, 0.0
				for k := range a.K {
					p := float64(x[at(a.StrideA, m, k, a.LDA, a.TransA)]) * float64(y[at(a.StrideB, k, n, a.LDB, a.TransB)])
					sum, size = sum+p, size+math.Abs(p)
				}
				i := at(a.StrideC, m, n, a.LDC, false)
				within[i] = true
				bound[i] = size*0x1p-22 + 1e-6 + math.Abs(sum)*halfEpsilon(a.Type)
				if bias != nil && a.Bias != nil {
					sum += float64(bias[n])
					bound[i] += math.Abs(sum) * halfEpsilon(a.Type)
				}
				if a.ReLU && !math.IsNaN(sum) {
					sum = max(sum, 0)
				}
				want[i] = sum
			}
		}
	}
	return want, bound, within
}
