package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestChannelsWhoseWindowCovers compares depthwise windows over the whole image with the definition, and also groups of
// several inputs, which are such windows in planes. It covers few channels and many, and several blocks of taps.
func TestChannelsWhoseWindowCovers(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		covered, planes := 0, 0
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 2912))
			channels := 1 + rng.IntN(40)
			s := Shape{Batch: 1 + rng.IntN(10), Groups: channels, InChannels: channels, OutChannels: channels}
			if seed%4 == 0 {
				s.InChannels *= 2 + rng.IntN(2)
			}
			if seed == 1 {
				s.Batch, channels = 2, 700
				s.Groups, s.InChannels, s.OutChannels = channels, channels, channels
			}
			for i := range s.In {
				s.Kernel[i], s.Strides[i] = 1+rng.IntN(5), 1+rng.IntN(3)
				s.In[i] = s.Kernel[i]
			}
			check[float32](t, p, &s, seed)
			checkPlan[float32](t, p, rng, &s)
			check[float64](t, p, &s, seed)
			n := s.normal()
			if coversChannels[float32](&n) {
				covered++
			} else if planesWeights[float32](&n) {
				planes++
			}
		}
		require.Greater(t, covered, 15)
		require.Greater(t, planes, 2)
	})
}
