package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestLinedTouchesNothingOutside puts the operands of batches of small products next to unreadable memory, with NaN in
// everything that their columns leave out.
func TestLinedTouchesNothingOutside(t *testing.T) {
	draws := 40
	if testing.Short() {
		draws = 12
	}
	p := pool.New(2)
	defer p.Close()
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(26, 41))
			for i := range draws {
				guardLined(t, p, drawLined[float32](rng), i%4 == 3)
				guardLined(t, p, drawLined[float64](rng), i%4 == 3)
			}
		})
	}
}

func guardLined[T Float](t *testing.T, p *pool.Pool, a *Args[T], atStart bool) {
	t.Helper()
	keep := func(x []T, rows, cols int, trans bool, ld int, strides [2]int) []T {
		if trans {
			rows, cols = cols, rows
		}
		y := make([]T, len(x))
		for i := range y {
			y[i] = T(math.NaN())
		}
		for e0 := range a.Batch[0] {
			for e1 := range a.Batch[1] {
				for r := range rows {
					at := e0*strides[0] + e1*strides[1] + r*ld
					copy(y[at:at+cols], x[at:])
				}
			}
		}
		return guard.Copy(t, y, atStart)
	}
	g := *a
	a.C = append([]T(nil), a.C...)
	g.A, g.B = keep(a.A, a.M, a.K, a.TransA, a.LDA, a.StrideA), keep(a.B, a.K, a.N, a.TransB, a.LDB, a.StrideB)
	g.C = guard.Copy(t, a.C, atStart)
	if a.Bias != nil {
		g.Bias = guard.Copy(t, a.Bias, atStart)
	}
	size := ScratchSize(a, p.Size())
	Run(p, a, make([]T, size))
	scratch := make([]T, size+1)
	for i := range scratch {
		scratch[i] = T(math.NaN())
	}
	Run(p, &g, guard.Copy(t, scratch, atStart))
	for i, x := range a.C {
		if y := g.C[i]; x != y && (x == x || y == y) {
			t.Fatalf("element %d is %v, expected %v: M %d, N %d, K %d, %v", i, y, x, a.M, a.N, a.K, a.Batch)
		}
	}
}
