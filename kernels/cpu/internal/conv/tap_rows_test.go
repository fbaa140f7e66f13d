package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestTapRows compares convolutions and input gradients of few channels, whose taps become rows, with the definition:
// for sequences, images and volumes, with all kinds of paddings, strides and dilations, in one band and in several.
// Images have the same bits in a batch as alone.
func TestTapRows(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		used, cut := [2]int{}, [2]int{}
		for seed := range uint64(150) {
			rng := rand.New(rand.NewPCG(seed, 23))
			s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 1, 1 + rng.IntN(100)}, InChannels: 1 + rng.IntN(3), OutChannels: 8 + rng.IntN(30),
				Kernel: [3]int{1, 1, 2 + rng.IntN(5)}, Strides: [3]int{1, 1, 1 + rng.IntN(3)}, Dilation: [3]int{1, 1, 1 + rng.IntN(3)}}
			switch {
			case seed%10 == 0: // volumes
				s.In = [3]int{1 + rng.IntN(5), 1 + rng.IntN(6), 1 + rng.IntN(20)}
				s.Kernel, s.Strides = [3]int{1 + rng.IntN(3), 1 + rng.IntN(3), 1 + rng.IntN(4)}, [3]int{1 + rng.IntN(2), 1 + rng.IntN(2), 1 + rng.IntN(2)}
			case seed%10 < 5: // images
				s.In[1], s.In[2] = 1+rng.IntN(12), 1+rng.IntN(20)
				s.Kernel[1], s.Strides[1], s.Dilation[1] = 1+rng.IntN(5), 1+rng.IntN(3), 1+rng.IntN(2)
			case seed%10 == 5: // of several bands
				s.Batch, s.In[1], s.In[2], s.InChannels, s.OutChannels = 1+rng.IntN(2), 60+rng.IntN(10), 50+rng.IntN(10), 1, 8+rng.IntN(3)
				s.Kernel[1], s.Kernel[2], s.Strides, s.Dilation[2] = 7, 7, [3]int{1, 1, 1}, 1
			case seed%10 == 6:
				s.Batch, s.In[2], s.InChannels, s.OutChannels, s.Kernel[2], s.Strides[2] = 1+rng.IntN(2), 44000+rng.IntN(2000), 1, 8+rng.IntN(3), 3, 1
			}
			for i := range 3 {
				if seed%10 == 6 && i < 2 {
					continue
				}
				s.PadLow[i], s.PadHigh[i] = rng.IntN(s.Kernel[i]+1)-rng.IntN(4)/3, rng.IntN(s.Kernel[i]+1)-rng.IntN(4)/3
			}
			o := operation(ofData)
			if seed/10%2 == 0 { // the convolution itself
				o = ofForward
				s.InChannels, s.OutChannels, s.Strides = s.OutChannels, s.InChannels, [3]int{1, 1, 1}
			}
			n := s.checked(o)
			if g, ok := newTapRows[float32](&n, o); ok {
				used[o]++
				if g.bands > 1 {
					cut[o]++
				}
			}
			check[float32](t, p, &s, seed)
			x, kernel, bias := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeKernel()), random[float32](rng, s.InChannels)
			run := func(s *Shape, x []float32) []float32 {
				y := scratchFor[float32](s.sizeY())
				Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
				return y
			}
			if size, batch := s.sizeX(), s.Batch; o == ofData {
				x = random[float32](rng, s.sizeY())
				run = func(s *Shape, x []float32) []float32 {
					y := scratchFor[float32](size / batch * s.Batch)
					Transposed(p, s, x, kernel, bias, true, y, scratchFor[float32](TransposedScratch[float32](s, p.Size(), true)))
					return y
				}
			}
			y, one := run(&s, x), s
			one.Batch = 1
			for i := range s.Batch {
				alone := run(&one, x[i*len(x)/s.Batch:(i+1)*len(x)/s.Batch])
				require.Equal(t, alone, y[i*len(alone):(i+1)*len(alone)], "seed %d, image %d: %+v", seed, i, s)
			}
		}
		if micro.PadColumns[float32](1) > 1 {
			require.Greater(t, min(used[0], used[1]), 15, "%v", used)
			require.Greater(t, min(cut[0], cut[1]), 2, "%v", cut)
		}
	})
}
