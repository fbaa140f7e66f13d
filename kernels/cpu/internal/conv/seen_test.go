package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestGroupsThatSeeFewPixels: in groups with large dilations or strides, inputs are not copied, except for gradients of
// short rows; copying took up to 200 times as long as the convolution. Results and gradients are correct.
func TestGroupsThatSeeFewPixels(t *testing.T) {
	three := func(n int) [3]int { return [3]int{n, n, n} }
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i, s := range []Shape{
			{Batch: 3, In: three(13), InChannels: 6, OutChannels: 66, Groups: 6, Kernel: three(5), Dilation: three(3)},
			{Batch: 2, In: [3]int{7, 9, 8}, InChannels: 10, OutChannels: 6, Groups: 2, Kernel: three(2), Strides: three(3)},
			{Batch: 1, In: [3]int{15, 21, 13}, InChannels: 28, OutChannels: 14, Groups: 7, Kernel: [3]int{4, 6, 5}, Strides: three(4)},
			{Batch: 3, In: three(7), InChannels: 56, OutChannels: 8, Groups: 8, Kernel: three(2), Strides: three(3), PadHigh: three(1)},
			{Batch: 1, In: three(21), InChannels: 38, OutChannels: 10, Groups: 2, Kernel: three(6), Dilation: three(4)},
		} {
			n := s.normal()
			require.False(t, repeats[float32](&n, ofForward) || repeats[float32](&n, ofWeights), "%+v", s)
			require.False(t, planes[float32](&n), "%+v", s)
			require.Equal(t, planesForm[float32](&n) && manyTaps(&n), planesData[float32](&n) || planesWeights[float32](&n), "%+v", s)
			require.False(t, splitsForward[float32](&n) || splitsGradients[float32](&n, ofWeights), "%+v", s)
			check[float32](t, p, &s, uint64(i))
			check[float64](t, p, &s, uint64(i))
		}
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 29))
			s := groupsOf(rng, 1+rng.IntN(4), 1+rng.IntN(12), 2+rng.IntN(4))
			if rng.IntN(2) == 0 {
				s.InChannels = s.Groups
			}
			if rng.IntN(2) == 0 {
				s.In[0], s.Kernel[0] = 6, 2
			}
			for i := range s.Kernel {
				if s.In[i] < 2 {
					continue
				}
				if step := 1 + rng.IntN(4); seed%2 == 0 {
					s.Strides[i], s.Dilation[i] = step, 1
				} else {
					s.Strides[i], s.Dilation[i] = 1, step
				}
				s.In[i] = max(s.In[i], (s.Kernel[i]-1)*max(s.Dilation[i], 1)+2-s.PadLow[i]-s.PadHigh[i])
			}
			check[float32](t, p, &s, seed)
			checkPlan[float32](t, p, rng, &s)
		}
	})
}
