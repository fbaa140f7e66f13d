package conv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// drawSpread draws a convolution with few outputs per group, or few inputs for its gradient.
func drawSpread(rng *rand.Rand) Shape {
	groups := []int{1, 1, 2, 4}[rng.IntN(4)]
	few, many := 1+rng.IntN(24), 8+rng.IntN(60)
	s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 1 + rng.IntN(8), 2 + rng.IntN(22)}, Groups: groups, InChannels: many * groups, OutChannels: few * groups,
		Kernel: [3]int{1, 1 + rng.IntN(4), 1 + rng.IntN(6)}, Strides: [3]int{1, 1 + rng.IntN(6)/5, 1 + rng.IntN(6)/5}, Dilation: [3]int{1, 1 + rng.IntN(5)/4, 1 + rng.IntN(5)/4}}
	switch rng.IntN(5) {
	case 0:
		s.In[1], s.Kernel[1], s.In[2] = 1, 1, 20+rng.IntN(400) // rows that are cut up
	case 1:
		s.In[1], s.In[2] = min(s.In[1], 4), min(s.In[2], 8)
		s.In[0], s.Kernel[0], s.Strides[0], s.Dilation[0], s.PadLow[0] = 1+rng.IntN(5), 1+rng.IntN(3), 1+rng.IntN(2), 1, rng.IntN(2)
	}
	if rng.IntN(3) == 0 {
		s.InChannels, s.OutChannels = s.OutChannels, s.InChannels
	}
	most := 5
	if rng.IntN(4) == 0 { // more padding than most windows, and whole panels
		most, s.OutChannels = 13, 32*(1+rng.IntN(2))*groups
	}
	for i := 1; i < 3; i++ {
		if s.PadLow[i], s.PadHigh[i] = rng.IntN(most)-1, rng.IntN(most)-1; i == 1 && s.In[1] == 1 && s.Kernel[1] == 1 {
			s.PadLow[i], s.PadHigh[i] = 0, 0
		}
	}
	return s
}

// TestSpreads compares convolutions of few outputs, and input gradients of few inputs, with their definition: any
// window, stride, dilation, padding and number of groups, on all instruction sets; and with moments.
func TestSpreads(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds, forward, backward, weights := uint64(200), 0, 0, 0
		if testing.Short() {
			seeds = 30
		}
		for seed := range seeds {
			s := drawSpread(rand.New(rand.NewPCG(seed, 2611)))
			check[float32](t, p, &s, seed)
			if seed%4 == 0 {
				check[float64](t, p, &s, seed)
			}
			if seed%2 == 1 && s.sizeY() > 0 && NewMoments[float32](&s) != nil {
				checkForwardMoments[float32](t, p, nil, &s)
			}
			if n := s.checked(ofForward); spreads[float32](&n) {
				forward++
			} else if spreadBackward[float32](&n) > 0 {
				backward++
			}
			if n := s.checked(ofWeights); few[float32](&n) {
				weights++
			}
		}
		if isa.Active() != isa.Portable {
			require.Positive(t, forward)
			require.Positive(t, backward)
			require.Positive(t, weights)
		}
	})
}

// TestSpreadPhasesOfWorkers: workers may be in different phases of an input gradient, which need scratch memory of
// different sizes.
func TestSpreadPhasesOfWorkers(t *testing.T) {
	s := &Shape{Batch: 16, In: [3]int{1, 80, 162}, InChannels: 1, OutChannels: 8, Kernel: [3]int{1, 8, 5}, Strides: [3]int{1, 1, 2}, PadLow: [3]int{0, 4, 2}, PadHigh: [3]int{0, 4, 2}}
	rng := rand.New(rand.NewPCG(26, 11))
	kernel, dy := random[float32](rng, s.sizeKernel()), random[float32](rng, s.sizeY())
	want, got := make([]float32, s.sizeX()), make([]float32, s.sizeX())
	BackwardData(nil, s, dy, kernel, want, scratchFor[float32](BackwardDataScratch[float32](s, 1)))
	for workers := 2; workers <= 4; workers++ {
		p := pool.New(workers)
		for range 8 {
			BackwardData(p, s, dy, kernel, got, scratchFor[float32](BackwardDataScratch[float32](s, workers)))
			require.True(t, slices.Equal(want, got), "%d workers", workers)
		}
		p.Close()
	}
}

// TestSpreadsAllocateNothing covers forward, both gradients, and the same with strides.
func TestSpreadsAllocateNothing(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	for _, few := range []int{3, 9} {
		s := &Shape{Batch: 4, In: [3]int{1, 12, 12}, InChannels: 48, OutChannels: few, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}}
		for range 2 {
			x, kernel, y := make([]float32, s.sizeX()), make([]float32, s.sizeKernel()), make([]float32, s.sizeY())
			scratch := make([]float32, max(ForwardScratch[float32](s, 2), BackwardDataScratch[float32](s, 2), BackwardWeightsScratch[float32](s, 2)))
			require.Zero(t, testing.AllocsPerRun(10, func() {
				Forward(p, s, x, kernel, nil, true, y, scratch)
				BackwardData(p, s, y, kernel, x, scratch)
				BackwardWeights(p, s, x, y, kernel, scratch)
			}))
			s.InChannels, s.OutChannels, s.Strides = s.OutChannels, s.InChannels, [3]int{1, 2, 2}
		}
	}
}

// TestSpreadsAndImages: the input gradient of a few pixels reads its weights once for several images instead.
func TestSpreadsAndImages(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		if micro.PadColumns[float32](1) == 1 {
			return
		}
		s := Shape{Batch: joinLeast - 1, In: [3]int{1, 1, 10}, InChannels: 128, OutChannels: 24, Kernel: [3]int{1, 1, 8}}
		n := s.checked(ofData)
		require.NotZero(t, spreadBackward[float32](&n))
		check[float32](t, p, &s, 1)
		s.Batch++
		n = s.checked(ofData)
		require.Zero(t, spreadBackward[float32](&n))
		check[float32](t, p, &s, 1)
	})
}
