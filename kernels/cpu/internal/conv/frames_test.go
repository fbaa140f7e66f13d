package conv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// framedShape draws a convolution of small images or volumes under large windows, many of which are copied with zeros
// around them, or are so for their input gradient.
func framedShape(r *rand.Rand) Shape {
	s := Shape{Batch: 1 + r.IntN(4), In: [3]int{1, 4 + r.IntN(9), 4 + r.IntN(9)}, Kernel: [3]int{1, 3 + r.IntN(5), 3 + r.IntN(5)}}
	if s.Groups = 1; r.IntN(4) == 0 {
		s.Groups = 2
	}
	if r.IntN(3) == 0 {
		s.In = [3]int{3 + r.IntN(5), 3 + r.IntN(5), 3 + r.IntN(5)}
		s.Kernel = [3]int{2 + r.IntN(3), 2 + r.IntN(3), 2 + r.IntN(3)}
	}
	s.InChannels, s.OutChannels = s.Groups*(1+r.IntN(12)), s.Groups*(1+r.IntN(40))
	for i := range s.Kernel {
		if s.In[i] == 1 {
			continue
		}
		s.Strides[i], s.Dilation[i] = 1+r.IntN(3)/2, 1
		if s.Strides[i] == 1 && r.IntN(4) == 0 {
			s.Dilation[i] = 2
		}
		reach := (s.Kernel[i] - 1) * s.Dilation[i]
		s.PadLow[i], s.PadHigh[i] = r.IntN(reach+1), r.IntN(reach+1)
		if r.IntN(8) == 0 {
			s.PadLow[i] = -1
		}
		s.In[i] = max(s.In[i], reach+2)
	}
	return s
}

// TestFrames compares random convolutions and gradients with the definition, also with more images than are copied at a
// time. Each image has the same bits alone, with the kernel in panels and in a plan, and images also without copies.
func TestFrames(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(63, 64))
		forward, backward := 0, 0
		for i := range 60 {
			s := framedShape(r)
			if i == 20 {
				s = Shape{Batch: 5, In: [3]int{1, 9, 9}, InChannels: 400, OutChannels: 2, Kernel: [3]int{1, 7, 7}, PadLow: [3]int{0, 3, 3}, PadHigh: [3]int{0, 3, 3}}
			}
			n := s.normal()
			f, b := framesForward[float32](&n), framesBackward[float32](&n)
			if f.on() {
				forward++
			}
			if b.on() {
				backward++
			}
			if i == 20 && f.on() {
				assert.Less(t, f.images(s.Batch, s.InChannels, p.Size()), s.Batch)
			}
			check[float32](t, p, &s, uint64(i))
			checkImagesAlone(t, p, r, &s)
			checkPlan[float32](t, p, r, &s)
			if f.on() && n.In[0] == 1 { // without copies, volumes may be computed by taps
				checkWithoutFrame(t, p, r, &s)
			}
		}
		if isa.Active().Has(isa.Vectors256) {
			assert.Greater(t, forward, 12)
			assert.Greater(t, backward, 12)
		}
	})
}

// checkWithoutFrame requires that copies change no bits.
func checkWithoutFrame(t *testing.T, p *pool.Pool, r *rand.Rand, s *Shape) {
	t.Helper()
	x, kernel := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel())
	y, again := scratchFor[float32](s.sizeY()), scratchFor[float32](s.sizeY())
	Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
	defer byFrames.Without()()
	Forward(p, s, x, kernel, nil, false, again, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
	assert.True(t, slices.Equal(y, again), "%+v", *s)
}
