package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
)

// TestForwardScratchOfProducts: ForwardScratch is called before it is known whether the kernel will be in panels and
// whether the result will be added.
func TestForwardScratchOfProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	size := func(most int) int { return 1 + int(float64(most)*r.Float64()*r.Float64()) }
	for range 20000 {
		s := Shape{Batch: size(4), In: [3]int{1, size(30), size(30)}, InChannels: size(2100), OutChannels: size(2100)}
		if r.IntN(2) == 0 {
			s.InChannels, s.OutChannels = (s.InChannels+511)/512*512, (s.OutChannels+127)/128*128
		}
		n, workers := s.checked(ofForward), 1+r.IntN(6)
		have := ForwardScratch[float32](&s, workers)
		for _, packed := range []bool{false, true} {
			for _, adds := range []bool{false, true} {
				a := pointwiseForward[float32](&n, nil, nil, nil, false, nil)
				a.Packed, a.Accumulate = packed, adds
				require.GreaterOrEqual(t, have, gemm.ScratchSize(&a, workers), "%+v, %d workers, packed %v, adds %v", s, workers, packed, adds)
			}
		}
	}
}
