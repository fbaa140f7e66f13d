package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestFilters compares random convolutions with several filters for each channel with the definition, on one to three
// axes.
func TestFilters(t *testing.T) {
	defer byRulesAVX2.Without()() // which repeat less
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(3, 8))
		repeated := 0
		for i := range 60 {
			channels := 2 + r.IntN(40)
			s := &Shape{Batch: r.IntN(4), In: [3]int{1, 1 + r.IntN(8), 1 + r.IntN(20)}, InChannels: channels, OutChannels: channels * (2 + r.IntN(5)), Groups: channels,
				Kernel: [3]int{1, 1 + r.IntN(4), 1 + r.IntN(4)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(3)}, Dilation: [3]int{1, 1, 1 + r.IntN(2)}}
			if r.IntN(3) == 0 {
				s.In[0], s.Kernel[0], s.Strides[0] = 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(2)
			}
			for a := range 3 {
				s.PadLow[a], s.PadHigh[a] = r.IntN(3)-r.IntN(2), r.IntN(3)
			}
			if repeats[float32](s, ofWeights) {
				repeated++
			}
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
		}
		require.Greater(t, repeated, 20)
	})
}
