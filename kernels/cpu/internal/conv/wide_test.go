package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestWideStrides compares strided convolutions of few channels, with one to three filters each, with the definition,
// in images and volumes: rows that are computed in several pieces and rows shorter than a vector, strides longer than
// the window, outputs that use no input.
func TestWideStrides(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(240)
		if testing.Short() {
			seeds = 60
		}
		wide, volumes, gradients := 0, 0, 0
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 9))
			channels, filters := 2+r.IntN(6), 1+r.IntN(5)/3*r.IntN(3)
			s := &Shape{Batch: 1 + r.IntN(3), In: [3]int{1 + r.IntN(5)/4, 1 + r.IntN(12), 1 + r.IntN(80)}, Groups: channels, InChannels: channels, OutChannels: channels * filters,
				Kernel: [3]int{1, 1 + r.IntN(5), 1 + r.IntN(9)}, Strides: [3]int{1, 1 + r.IntN(4), 2 + r.IntN(8)}, Dilation: [3]int{1, 1 + r.IntN(2), 1}}
			for i := 1; i < 3; i++ {
				s.PadLow[i], s.PadHigh[i] = r.IntN(7)-2, r.IntN(7)-2
			}
			if seed%2 == 1 { // windows of several planes
				s.In, s.Kernel[0], s.Strides[0] = [3]int{2 + r.IntN(5), s.In[1], s.In[2] / 3}, 2+r.IntN(3), 1+r.IntN(3)
				s.PadLow[0], s.PadHigh[0], s.Dilation[0] = r.IntN(4)-1, r.IntN(4)-1, 1+r.IntN(4)/3
				if seed%4 == 3 {
					s.Strides[2], s.Dilation[2] = 1, 1+r.IntN(2)
				}
				if isWideForward[float32](s) {
					volumes++
				}
				if isWideGradient[float32](s) && volume(s.Out()) > 0 {
					gradients++
				}
			} else if isWideForward[float32](s) {
				wide++
			}
			check[float32](t, p, s, seed)
		}
		require.True(t, min(volumes, gradients) > int(seeds)/24 || micro.NarrowChannels[float32]() < 8, "%d volumes, %d gradients", volumes, gradients)
		require.True(t, wide > int(seeds)/16 || micro.NarrowChannels[float32]() < 8, "%d", wide)
	})
}

// TestWideBounds checks from which sizes on rows of few channels are computed along the width: single taps whose stride
// skips pixels, and volumes. With vectors of four, five channels are not.
func TestWideBounds(t *testing.T) {
	forLevels(t, func(t *testing.T, _ *pool.Pool) {
		long := micro.NarrowChannels[float32]() >= 8
		for _, c := range []struct {
			in, kernel, strides     [3]int
			forward, data, gradient bool
		}{
			{[3]int{1, 9, 2*wideRow - 1}, [3]int{1, 1, 1}, [3]int{1, 2, 2}, true, false, false},
			{[3]int{1, 9, 2*wideRow - 2}, [3]int{1, 1, 1}, [3]int{1, 2, 2}, false, false, false},
			{[3]int{1, 9, 2*wideGradient - 1}, [3]int{1, 2, 1}, [3]int{1, 2, 2}, true, true, true},
			{[3]int{1, 9, 2*wideGradient - 2}, [3]int{1, 2, 1}, [3]int{1, 2, 2}, true, true, false},
			{[3]int{1, 9, 2*wideStrided - 2}, [3]int{1, 2, 1}, [3]int{1, 2, 2}, false, false, false},
			{[3]int{4, 9, 2*volumeTaps/3 + 1}, [3]int{2, 3, 3}, [3]int{1, 1, 2}, true, true, false},
			{[3]int{4, 9, 2*volumeTaps/3 - 1}, [3]int{2, 3, 3}, [3]int{1, 1, 2}, false, false, false},
			{[3]int{4, 9, 2*volumeGradientTaps/3 + 4}, [3]int{2, 3, 3}, [3]int{1, 1, 2}, true, true, true},
			{[3]int{4, 9, 6}, [3]int{2, 3, 4}, [3]int{1, 1, 1}, true, true, true},
		} {
			s := Shape{Batch: 2, In: c.in, Kernel: c.kernel, Strides: c.strides, InChannels: 5, OutChannels: 5, Groups: 5}
			n := s.normal()
			require.Equal(t, []bool{long && c.forward, long && c.data, long && c.gradient}, []bool{isWideForward[float32](&n), isWideData[float32](&n), isWideGradient[float32](&n)}, "%+v", n)
		}
		for width := 1; long && width < 3; width++ { // a row fills the shortest vector, or does not
			s := Shape{Batch: 2, In: [3]int{1, 9, width}, Kernel: [3]int{1, 2, 1}, InChannels: 5, OutChannels: 5, Groups: 5}
			n := s.normal()
			require.Equal(t, width > 1, isWideForward[float32](&n))
			require.Equal(t, width > 1, isWideGradient[float32](&n))
		}
	})
}
