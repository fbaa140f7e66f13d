package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestWindowsThatCoverAxes compares windows over the whole image and over its innermost axes with the definition, with
// and without groups. It covers strides, padding and dilation along the other axes, windows that only seem to cover,
// and empty batches.
func TestWindowsThatCoverAxes(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		products, folded, data, weights := 0, [3]int{}, 0, 0
		for seed := range uint64(90) {
			rng := rand.New(rand.NewPCG(seed, 2911))
			groups := 1
			if seed%3 == 1 {
				groups = 2 + rng.IntN(4)
			}
			s := Shape{Batch: 1 + rng.IntN(5), Groups: groups, InChannels: groups * (1 + rng.IntN(9)), OutChannels: groups * (1 + rng.IntN(9))}
			if seed%20 == 19 {
				s.Batch = 0
			}
			covered := 3 - int(seed/2)%3 // axes
			for i := range s.In {
				s.Kernel[i], s.Strides[i] = 1+rng.IntN(5), 1+rng.IntN(3)
				s.In[i] = s.Kernel[i]
				if 3-i > covered {
					s.In[i], s.PadLow[i], s.PadHigh[i], s.Dilation[i] = s.In[i]+rng.IntN(4), rng.IntN(2), rng.IntN(2), 1+rng.IntN(5)/4
				}
			}
			if seed%5 == 4 { // taps beyond the edge
				s.Dilation[2], s.PadLow[2] = 2, 1
			}
			check[float32](t, p, &s, seed)
			checkPlan[float32](t, p, rng, &s)
			if seed%4 == 0 {
				check[float64](t, p, &s, seed)
			}
			n := s.normal()
			for o := range folded {
				if f := s.checked(operation(o)); f.InChannels > n.InChannels && !f.covers() {
					folded[o]++
				}
			}
			if f := s.checked(ofData); f.pointwise() && n.covers() {
				products++
			}
			if n.Groups > 1 && n.covers() && splitsGradients[float32](&n, ofData) {
				data++
			}
			if n.Groups > 1 && n.covers() && splitsGradients[float32](&n, ofWeights) {
				weights++
			}
		}
		require.Greater(t, products, 8)
		require.Greater(t, min(folded[0], folded[1], folded[2]), 8, "%v", folded)
		require.Greater(t, data, 4)
		require.Greater(t, weights, 1)
	})
}

// TestCoveredAxesAreChannels checks which axes become channels. None do outside of an axis that is not covered. None do
// if a single padded row is left, except for the input gradient, nor if the gradient of a large kernel would be divided
// into too few units. In the forward operation some do not, so that an image has the same bits alone as in a batch.
func TestCoveredAxesAreChannels(t *testing.T) {
	image := func(change func(s *Shape)) *Shape {
		s := &Shape{Batch: 2, In: [3]int{1, 9, 5}, Kernel: [3]int{1, 4, 5}, InChannels: 3, OutChannels: 7, Strides: [3]int{1, 2, 3}}
		change(s)
		return s
	}
	volume := func(change func(s *Shape)) *Shape {
		s := &Shape{Batch: 2, In: [3]int{8, 9, 5}, Kernel: [3]int{3, 4, 5}, InChannels: 3, OutChannels: 7, Strides: [3]int{3, 2, 1}}
		change(s)
		return s
	}
	for name, c := range map[string]struct {
		s    *Shape
		want [3]int // input channels of the result, and of the gradients of input and kernel
	}{
		"width":                 {image(func(*Shape) {}), [3]int{15, 15, 15}},
		"all":                   {image(func(s *Shape) { s.In[1] = 4 }), [3]int{3, 60, 60}},
		"height alone":          {image(func(s *Shape) { s.In = [3]int{1, 4, 6} }), [3]int{3, 3, 3}},
		"width with distances":  {image(func(s *Shape) { s.In[2], s.PadHigh[2], s.Dilation[2] = 5, 4, 2 }), [3]int{3, 3, 3}},
		"distances, one image":  {image(func(s *Shape) { s.Kernel[2], s.In[2], s.Dilation[2], s.PadLow[2] = 2, 2, 2, 1 }), [3]int{3, 3, 3}},
		"no output":             {image(func(s *Shape) { s.In[2], s.Kernel[2], s.Dilation[2] = 3, 3, 2 }), [3]int{3, 3, 3}},
		"padded width":          {image(func(s *Shape) { s.PadHigh[2] = 1 }), [3]int{3, 3, 3}},
		"padded height":         {image(func(s *Shape) { s.PadLow[1] = 1 }), [3]int{3, 15, 3}},
		"cut height":            {image(func(s *Shape) { s.PadHigh[1] = -1 }), [3]int{3, 15, 3}},
		"groups":                {image(func(s *Shape) { s.Groups, s.OutChannels = 3, 6 }), [3]int{3, 3, 3}},
		"large kernel":          {image(func(s *Shape) { s.OutChannels = insideMax/60 + 1 }), [3]int{15, 15, 3}},
		"large kernel over all": {image(func(s *Shape) { s.In[1], s.OutChannels = 4, insideMax/60+1 }), [3]int{3, 60, 60}},
		"volume":                {volume(func(s *Shape) { s.PadLow[1], s.PadHigh[0] = 2, 1 }), [3]int{15, 15, 15}},
		"volume, two axes":      {volume(func(s *Shape) { s.In[1] = 4 }), [3]int{60, 60, 60}},
		"volume, padded depth":  {volume(func(s *Shape) { s.In[1], s.PadHigh[0] = 4, 1 }), [3]int{15, 60, 15}},
	} {
		for o, want := range c.want {
			n := c.s.checked(operation(o))
			require.Equal(t, want, n.InChannels, "%s, operation %d: %+v", name, o, n)
			again := n.checked(operation(o))
			require.Equal(t, n, again, name)
		}
	}
}

// TestGroupsThatCover checks the bounds from which on the gradients of groups are matrix products.
func TestGroupsThatCover(t *testing.T) {
	for _, c := range []struct {
		height, width, in, out, groups int
		data, weights                  bool
	}{
		{1, splitData - 1, 4, 8, 3, false, false}, {1, splitData, 4, 8, 3, true, false}, {1, splitWeights - 1, 4, 8, 3, true, false}, {1, splitWeights, 4, 8, 3, true, true},
		{3, splitData / 3, 24, 24, 3, false, false}, {3, splitData / 3, 24, 23, 3, true, false}, {1, 30, 1, splitVolume, 7, false, false}, {1, 30, 1, splitVolume + 1, 7, true, true},
		{5, 6, planesInputs, 2, 12, true, false}, {5, 6, planesInputs + 1, 2, 12, true, true}, {5, 6, planesInputs, 3, 12, true, true},
		{1, 30, planesInputs, 3, 12, true, true}, {1, 30, planesInputs + 1, 3, 12, true, false},
	} {
		window := [3]int{1, c.height, c.width}
		s := Shape{Batch: 2, In: window, Kernel: window, Groups: c.groups, InChannels: c.groups * c.in, OutChannels: c.groups * c.out}
		n := s.normal()
		require.Equal(t, c.data, splitsGradients[float32](&n, ofData), "%+v", c)
		require.Equal(t, c.weights, splitsGradients[float32](&n, ofWeights), "%+v", c)
		require.False(t, splitsGradients[float64](&n, ofData), "%+v", c)
	}
}
