package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestUnfoldedGroups covers groups whose rows are unfolded: results and both gradients, with strides, dilation and
// padding on both sides (also negative), of sequences, images and volumes, in several blocks of images, and with a
// bias.
func TestUnfoldedGroups(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(80)
		if testing.Short() {
			seeds = 40
		}
		var unfolded [3]int
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 41))
			s := groupsOf(rng, 1+rng.IntN(6), 1+rng.IntN(20), 2+rng.IntN(3))
			s.Kernel[1], s.Dilation[2] = s.Kernel[1]+2, 1+rng.IntN(2)
			if rng.IntN(2) == 0 {
				s.In[0], s.Kernel[0], s.PadLow[0] = 4, 3, 1
				s.In[2], s.PadLow[2], s.PadHigh[2], s.Kernel[2], s.Strides[2] = 3+rng.IntN(6), 1, rng.IntN(3), 3, 1
			}
			if seed%3 == 1 {
				s.In[2], s.Kernel[1], s.Dilation[2], s.Strides[1] = 12, 7, 2, 1
			}
			for i := range s.In {
				s.In[i] = max(s.In[i], (s.Kernel[i]-1)*max(s.Dilation[i], 1)+2-s.PadLow[i]-s.PadHigh[i])
			}
			check[float32](t, p, &s, seed)
			n := s.normal()
			for o := range unfolded {
				splits := splitsGradients[float32](&n, ofWeights)
				if operation(o) == ofForward {
					splits = splitsForward[float32](&n)
				}
				if splits && n.unfoldsRows(operation(o)) {
					unfolded[o]++
				}
			}
		}
		for _, count := range unfolded {
			require.Greater(t, count, int(seeds)/10)
		}
		s := Shape{Batch: 27, In: [3]int{1, 64, 60}, Groups: 2, InChannels: 6, OutChannels: 24, Kernel: [3]int{1, 4, 5}, Dilation: [3]int{1, 1, 2}}
		n := s.normal()
		require.True(t, splitsGradients[float32](&n, ofWeights))
		require.Less(t, 1, n.splitImages(true))
		require.NotZero(t, n.Batch%n.splitImages(true))
		check[float32](t, p, &s, 1)
	})
}
