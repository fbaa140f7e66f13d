package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestHalfPanels: a packed B gives the same bits, on every path, also for products of one row.
func TestHalfPanels(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(3, 4))
			for try := range 60 {
				a, c, _, _ := randomHalf(r)
				if a.StrideB = [2]int{}; try%3 == 0 {
					a.M, a.TransA, a.LDA = 1, false, a.K
				}
				a.C = c
				RunHalf(workers, a, make([]float32, HalfScratch(a, workers.Size())))
				a.Narrow = try%2 == 0
				_, size := HalfPanels(a)
				a.Packed = make([]float32, size)
				PackHalf(workers, a.Packed, a)
				a.B, a.C = nil, make([]uint16, len(c))
				RunHalf(nil, a, make([]float32, HalfScratch(a, 1)))
				require.True(t, slices.Equal(c, a.C), "product %d: %s", try, describeHalf(a))
				a.Packed = a.Packed[:size-1]
				require.Panics(t, func() { RunHalf(nil, a, make([]float32, HalfScratch(a, 1))) })
			}
		})
	}
}
