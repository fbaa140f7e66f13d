package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestPlanes compares random convolutions in groups of several inputs and few outputs with the definition, on one to
// three axes.
func TestPlanes(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(4, 8))
		results, inputs, kernels, several := 0, 0, 0, 0
		for i := range 80 {
			groups := 2 + r.IntN(16)
			s := &Shape{Batch: r.IntN(5), In: [3]int{1, 1 + r.IntN(8), 1 + r.IntN(12)}, InChannels: groups * (2 + r.IntN(5)), OutChannels: groups * (1 + r.IntN(2)), Groups: groups,
				Kernel: [3]int{1, 1 + r.IntN(4), 2 + r.IntN(4)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(3)}, Dilation: [3]int{1, 1, 1 + r.IntN(2)}}
			if i%2 == 0 {
				s.Strides = [3]int{1, 1, 1}
			}
			if i%4 == 0 { // groups of two inputs, with long windows
				s.InChannels, s.Kernel = 2*groups, [3]int{1, 3 + r.IntN(2), 4}
			}
			if r.IntN(3) == 0 {
				s.In[0], s.Kernel[0], s.Strides[0], s.Dilation[0] = 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
			}
			if i%20 == 19 { // more than planes are made for at a time
				s.Batch, s.In, s.Kernel, s.InChannels, s.OutChannels, s.Groups = 8, [3]int{1, 40, 40}, [3]int{1, 2, 4}, 96, 8, 8
			}
			for a := range 3 {
				s.PadLow[a], s.PadHigh[a] = r.IntN(3)-r.IntN(2), r.IntN(3)
			}
			n := s.normal()
			if planes[float32](&n) {
				results++
			}
			if planesData[float32](&n) {
				inputs++
			}
			if planesWeights[float32](&n) {
				kernels++
				if s.planesImages() < s.Batch {
					several++
				}
			}
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
		}
		require.Greater(t, min(results, inputs, kernels), 5)
		require.Positive(t, several)
	})
}
