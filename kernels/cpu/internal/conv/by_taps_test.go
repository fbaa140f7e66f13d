package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestByTaps compares random convolutions of short rows, on one and three axes, with the definition, and the bits of a
// batch with those of its images alone.
func TestByTaps(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(6, 9))
		forward, backward := 0, 0
		for i := range 24 {
			groups := []int{1, 1, 2}[r.IntN(3)]
			s := &Shape{Batch: 1 + i%4*3, In: [3]int{1 + r.IntN(5), 1 + r.IntN(5), 4 + r.IntN(8)}, InChannels: groups * (8 + r.IntN(12)), OutChannels: groups * (9 + r.IntN(40)),
				Groups: groups, Kernel: [3]int{2, 1 + r.IntN(3), 2 + r.IntN(4)}, Strides: [3]int{1, 1, 1 + r.IntN(6)/5}, Dilation: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(4)/3}}
			if i%3 == 2 {
				s.In[0], s.In[1], s.Kernel[0], s.Kernel[1] = 1, 1, 1, 1
			}
			for a := range 3 {
				around := (s.Kernel[a] - 1) * s.Dilation[a]
				s.PadLow[a], s.PadHigh[a] = around/2, around-around/2
			}
			forward += runsOf(s)
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
			x, kernel, y := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), scratchFor[float32](s.sizeY())
			Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
			one := *s
			one.Batch = 1
			alone := scratchFor[float32](one.sizeY())
			image := r.IntN(s.Batch)
			Forward(p, &one, x[image*one.sizeX():], kernel, nil, false, alone, scratchFor[float32](ForwardScratch[float32](&one, p.Size())))
			assert.Equal(t, alone, y[image*one.sizeY():][:one.sizeY()], "image %d alone: %+v", image, *s)
			if s.Strides[2] == 1 { // the input gradient is a convolution of the same lengths
				backward += runsOf(&Shape{Batch: 1, In: s.Out(), InChannels: s.OutChannels, OutChannels: s.InChannels, Groups: groups, Kernel: s.Kernel, PadLow: s.PadHigh, PadHigh: s.PadLow})
			}
		}
		require.Greater(t, forward, 8)
		require.Greater(t, backward, 8)
	})
}

// runsOf returns 1 if a convolution adds one tap after the other, else 0.
func runsOf(s *Shape) int {
	n := s.checked(ofForward)
	c := getCorrelation[float32]()
	defer putCorrelation(c)
	if c.forward(&n); n.unfolds() {
		return 0
	}
	c.cutSpans()
	return min(len(c.runs), 1)
}

// TestImagesGoBySpans: images may be cut into bands of rows, which must not change the rounding.
func TestImagesGoBySpans(t *testing.T) {
	require.Zero(t, runsOf(&Shape{Batch: 1, In: [3]int{1, 4, 4}, InChannels: 64, OutChannels: 64, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}))
	require.Equal(t, 1, runsOf(&Shape{Batch: 1, In: [3]int{4, 4, 4}, InChannels: 64, OutChannels: 48, Kernel: [3]int{3, 3, 3}, PadLow: [3]int{1, 1, 1}, PadHigh: [3]int{1, 1, 1}}))
}
