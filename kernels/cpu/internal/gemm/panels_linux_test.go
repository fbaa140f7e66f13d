package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestIncompletePanels compares products whose last panels are incomplete, and gradients of few columns, with those of
// a packed B, bit by bit. Operands are next to unreadable memory, with NaN between their rows and in the scratch
// memory.
func TestIncompletePanels(t *testing.T) {
	draws := 60
	if testing.Short() {
		draws = 20
	}
	pools := []*pool.Pool{pool.New(1), pool.New(2)}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(26, 42))
			for i := range draws {
				checkIncomplete[float32](t, pools[i/4%2], rng, i%4 == 3)
				checkIncomplete[float64](t, pools[i/4%2], rng, i%4 == 3)
			}
		})
	}
	for _, p := range pools {
		p.Close()
	}
}

// checkIncomplete checks a product of drawn sizes.
func checkIncomplete[T Float](t *testing.T, p *pool.Pool, rng *rand.Rand, atStart bool) {
	t.Helper()
	a := Args[T]{M: 2 + rng.IntN(150), N: 1 + rng.IntN(72), K: 1 + rng.IntN(200), TransA: rng.IntN(2) == 0}
	switch rng.IntN(6) {
	case 0:
		a.M = 64 + rng.IntN(1200)
	case 1:
		a.K = 200 + rng.IntN(1500)
	case 2: // a large C of short sums
		a.M, a.N, a.K = 1000+rng.IntN(3000), 64+rng.IntN(300), 2+rng.IntN(40)
	}
	if rng.IntN(2) == 0 {
		a.N = 1 + rng.IntN(24)
	}
	if rng.IntN(8) == 0 { // a large A, whose sums are added in parts
		a.M, a.N, a.K, a.TransA = 1400+rng.IntN(300), 3+rng.IntN(10), 300+rng.IntN(300), true
	}
	spread := func(rows, cols int) ([]T, int) { // numbers in rows with gaps of NaN
		gap := rng.IntN(2) * rng.IntN(9)
		x := random[T](rng, (rows-1)*(cols+gap)+cols)
		for i := range x {
			if i%(cols+gap) >= cols {
				x[i] = T(math.NaN())
			}
		}
		return guard.Copy(t, x, atStart), cols + gap
	}
	if a.TransA {
		a.A, a.LDA = spread(a.K, a.M)
	} else {
		a.A, a.LDA = spread(a.M, a.K)
	}
	if a.TransB = !a.TransA && rng.IntN(3) == 0; a.TransB {
		a.B, a.LDB = spread(a.N, a.K)
	} else {
		a.B, a.LDB = spread(a.K, a.N)
	}
	if rng.IntN(4) == 0 {
		a.Bias, a.ReLU = random[T](rng, a.N), true
	}
	c, ldc := spread(a.M, a.N)
	a.C, a.LDC = append([]T(nil), c...), ldc
	packed := a
	packed.B, packed.Packed, packed.TransB = make([]T, PackedSize[T](a.N, a.K)), true, false
	PackB(nil, packed.B, a.B, a.K, a.N, a.LDB, a.TransB)
	Run(nil, &packed, make([]T, ScratchSize(&packed, 1)))
	a.C = c
	scratch := make([]T, ScratchSize(&a, p.Size())+1)
	for i := range scratch {
		scratch[i] = T(math.NaN())
	}
	Run(p, &a, guard.Copy(t, scratch, atStart))
	for i, x := range packed.C {
		if y := a.C[i]; x != y && (x == x || y == y) {
			t.Fatalf("element %d is %v, expected %v: M %d, N %d, K %d, strides %d, %d, %d, A transposed %v, B %v",
				i, y, x, a.M, a.N, a.K, a.LDA, a.LDB, a.LDC, a.TransA, a.TransB)
		}
	}
}
