package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestGroupsApartFromEachOther covers groups that are computed as separate convolutions: one input with many outputs or
// with strides, volumes, dilation, one image at a time and several; and groups that are not.
func TestGroupsApartFromEachOther(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(60)
		if testing.Short() {
			seeds = 24
		}
		forward, gradients := 0, 0
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 8))
			s := groupsOf(rng, 1+rng.IntN(5), 1+rng.IntN(20), 2+rng.IntN(3))
			if rng.IntN(3) == 0 {
				s.InChannels = s.Groups
			}
			if rng.IntN(2) == 0 {
				s.In[0], s.Kernel[0], s.PadLow[0] = 4, 3, 1
			}
			s.Kernel[1] += 2
			for i := range s.In {
				s.In[i] = max(s.In[i], (s.Kernel[i]-1)*max(s.Dilation[i], 1)+2-s.PadLow[i]-s.PadHigh[i])
			}
			check[float32](t, p, &s, seed)
			if seed%8 == 0 {
				check[float64](t, p, &s, seed)
				checkPlan[float32](t, p, rng, &s)
			}
			n := s.normal()
			if splitsForward[float32](&n) {
				forward++
			}
			if splitsGradients[float32](&n, ofData) {
				gradients++
			}
		}
		require.Greater(t, forward, int(seeds)/8)
		require.Greater(t, gradients, int(seeds)/6)
	})
}

// TestGroupsOfManyImages: only a part of the images is copied at a time.
func TestGroupsOfManyImages(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		s := Shape{Batch: 13, In: [3]int{2, 42, 42}, Groups: 2, InChannels: 2, OutChannels: 48, Kernel: [3]int{2, 2, 2}}
		n := s.normal()
		require.True(t, splitsForward[float32](&n) && splitsGradients[float32](&n, ofWeights))
		require.Less(t, 1, n.splitImages(n.unfoldsRows(ofForward)))
		require.NotZero(t, n.Batch%n.splitImages(n.unfoldsRows(ofForward)))
		check[float32](t, p, &s, 1)
	})
}

// TestGroupsOfVolumes: volumes of small groups with strides or dilations are split up where copies pay, and right.
func TestGroupsOfVolumes(t *testing.T) {
	strided := Shape{Batch: 2, In: [3]int{7, 8, 11}, Groups: 3, InChannels: 9, OutChannels: 15, Kernel: [3]int{3, 3, 2}, Strides: [3]int{2, 2, 2}, PadLow: [3]int{1, 0, 1}, PadHigh: [3]int{0, 1, 0}}
	dilated := Shape{Batch: 2, In: [3]int{5, 6, 7}, Groups: 2, InChannels: 8, OutChannels: 6, Kernel: [3]int{3, 2, 3}, Dilation: [3]int{2, 2, 2}, PadLow: [3]int{2, 1, 2}, PadHigh: [3]int{2, 1, 2}}
	n, m := strided.normal(), dilated.normal()
	require.True(t, splitsGradients[float32](&n, ofWeights) && splitsGradients[float32](&m, ofWeights) && splitsForward[float32](&m))
	require.False(t, splitsForward[float32](&n))
	for _, change := range []func(s *Shape){
		func(s *Shape) { s.OutChannels = 48 }, func(s *Shape) { s.InChannels = 24 }, func(s *Shape) { s.Strides = [3]int{1, 1, 1} }, func(s *Shape) { s.In[2] = 3 },
		func(s *Shape) { s.Groups, s.InChannels, s.OutChannels = 8, 24, 16 },
	} {
		s := n
		change(&s)
		require.False(t, splitsGradients[float32](&s, ofWeights), "%+v", s)
	}
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		check[float32](t, p, &strided, 1)
		check[float32](t, p, &dilated, 2)
	})
}
