package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfScratchOfPanels: HalfScratch is called before it is known whether B will be in panels.
func TestHalfScratchOfPanels(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(31, 32))
			size := func(most int) int { return 1 + int(float64(most)*r.Float64()*r.Float64()) }
			for range 10000 {
				a := HalfArgs{Type: []vec.Half{vec.BFloat16, vec.Float16}[r.IntN(2)], M: size(600), N: size(1200), K: size(1500), TransA: r.IntN(2) == 0, TransB: r.IntN(2) == 0}
				workers := 1 + r.IntN(8)
				packed := a
				packed.Packed = []float32{}
				n := packed.normal()
				require.False(t, n.swap())
				plan := newHalfPlan(&n, workers, false)
				require.GreaterOrEqual(t, HalfScratch(&a, workers), plan.scratch(&n, workers), "%s, %d workers", describeHalf(&a), workers)
			}
		})
	}
}
