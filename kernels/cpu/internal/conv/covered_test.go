package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestWindowsThatCoverAxes covers windows over the whole image and over its innermost axes, with and without groups,
// with strides and padding along the others.
func TestWindowsThatCoverAxes(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		products, data, weights := 0, 0, 0
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 2911))
			groups := 1
			if seed%2 == 1 {
				groups = 2 + rng.IntN(4)
			}
			s := Shape{Batch: 1 + rng.IntN(5), Groups: groups, InChannels: groups * (1 + rng.IntN(9)), OutChannels: groups * (1 + rng.IntN(9))}
			covered := 3 - int(seed/2)%3 // axes
			for i := range s.In {
				s.Kernel[i], s.Strides[i] = 1+rng.IntN(5), 1+rng.IntN(3)
				s.In[i] = s.Kernel[i]
				if 3-i > covered {
					s.In[i], s.PadLow[i] = s.In[i]+rng.IntN(4), rng.IntN(2)
				}
			}
			check[float32](t, p, &s, seed)
			checkPlan[float32](t, p, rng, &s)
			if seed%4 == 0 {
				check[float64](t, p, &s, seed)
			}
			n := s.checked()
			if groups == 1 {
				require.Equal(t, 1, n.In[covered-1], "%+v", n)
				if n.pointwise() {
					products++
				}
				continue
			}
			if n.covers() && splitsGradients[float32](&n, ofData) {
				data++
			}
			if n.covers() && splitsGradients[float32](&n, ofWeights) {
				weights++
			}
		}
		require.Greater(t, products, 8)
		require.Greater(t, data, 4)
		require.Greater(t, weights, 1)
	})
}
