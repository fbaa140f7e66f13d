package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// depthwiseOf is a random depthwise convolution whose window may be cut into parts.
func depthwiseOf(rng *rand.Rand) Shape {
	c := 8 + rng.IntN(60)
	s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 1 + rng.IntN(12), 1 + rng.IntN(40)}, Groups: c, InChannels: c, OutChannels: c,
		Kernel: [3]int{1, 1 + rng.IntN(5), []int{2, 4, 6, 8, 9, 10, 3, 5, 7, 11}[rng.IntN(10)]}, Strides: [3]int{1, 1 + rng.IntN(4)/3, 1}, Dilation: [3]int{1, 1 + rng.IntN(3)/2, 1 + rng.IntN(4)/3*(1+rng.IntN(2))}}
	if rng.IntN(6) == 0 {
		s.Batch, s.InChannels, s.OutChannels, s.Groups, s.Strides[2] = 1, c+fetchColumns, c+fetchColumns, c+fetchColumns, 2
	}
	if rng.IntN(4) == 0 {
		s.In[0], s.PadLow[0], s.PadHigh[0], s.Strides[0] = 2, rng.IntN(2), rng.IntN(2), 1+rng.IntN(2)
	}
	for i := 1; i < 3; i++ {
		reach := (s.Kernel[i] - 1) * s.Dilation[i]
		switch rng.IntN(3) {
		case 0:
			s.PadLow[i], s.PadHigh[i] = reach/2, reach-reach/2
		case 1:
			s.PadLow[i], s.PadHigh[i] = rng.IntN(reach+4)-1, rng.IntN(reach+4)-1
		}
		s.In[i] = max(s.In[i], reach+1-s.PadLow[i]-s.PadHigh[i])
	}
	return s
}

// TestDepthwiseInParts covers windows in parts: rows that are copied, rows in place, and both; padding larger than the
// window, outputs that use no input, strides, dilation, and planes along the depth.
func TestDepthwiseInParts(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(200)
		if testing.Short() {
			seeds = 80
		}
		inParts, whole, ends := 0, 0, 0
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 7))
			s := depthwiseOf(rng)
			check[float32](t, p, &s, seed)
			if n := s.normal(); slidesCopies[float32](&n) {
				inParts++
				c := getCorrelation[float32]()
				if c.forward(&n); c.copies.left == c.outs[2] {
					whole++
				} else if c.copies.left > 0 {
					ends++
				}
				putCorrelation(c)
			}
			if seed%4 == 0 {
				checkPlan[float32](t, p, rng, &s)
			}
		}
		have := isa.Active().Has(isa.Vectors256)
		require.Equal(t, have, min(inParts, 3*whole, 3*ends) > int(seeds)/10, "of %d shapes %d went in parts, %d with copies of whole rows, %d of ends", seeds, inParts, whole, ends)
	})
}

// TestSlideStrides: windows of 2, 6 and 9 taps with stride 2 slide over few channels, too, if rows are long; the last
// two only without padding.
func TestSlideStrides(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i, k := range []int{2, 6, 9, 4, 8} {
			for padding := range 2 {
				s := Shape{Batch: 2, In: [3]int{1, 12, 41 + i}, InChannels: 17 + i, OutChannels: 17 + i, Groups: 17 + i, Kernel: [3]int{1, 1 + i, k}, Strides: [3]int{1, 2, 2}}
				s.PadLow[2], s.PadHigh[2] = padding, padding
				if n := s.normal(); micro.HasSlide[float32](3, 17) {
					assert.Equal(t, k == 2 || k%3 == 0 && padding == 0 && !usesAVX2(), slidesCopies[float32](&n), "%+v", s)
				}
				check[float32](t, p, &s, uint64(i))
			}
		}
	})
}
