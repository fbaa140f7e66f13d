package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestOverlapping compares input gradients that add windows with the definition: for sequences and images, with few
// windows and with more than are in memory at a time. Images have the same bits in a batch as alone.
func TestOverlapping(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		overlapped := 0
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 19))
			s := Shape{Batch: 1 + rng.IntN(4), In: [3]int{1, 1, 30 + rng.IntN(150)}, InChannels: 1 + rng.IntN(3), OutChannels: 5 + rng.IntN(20),
				Kernel: [3]int{1, 1, 10 + rng.IntN(60)}, Strides: [3]int{1, 1, 3 + rng.IntN(30)}}
			if seed%4 == 0 {
				s.In, s.Kernel[0], s.Kernel[1] = [3]int{1 + rng.IntN(4), 3 + rng.IntN(5), 40}, 1+rng.IntN(2), 1+rng.IntN(3)
				s.Strides[1], s.Dilation[1] = 1+rng.IntN(2), 1+rng.IntN(2)
			}
			for i := range 3 {
				s.PadLow[i], s.PadHigh[i] = rng.IntN(4)-1, rng.IntN(4)-1
			}
			if n := s.checked(ofData); overlaps[float32](&n) {
				overlapped++
			}
			check[float32](t, p, &s, seed)
			check[float64](t, p, &s, seed)
		}
		require.Greater(t, overlapped, 10)
		for _, several := range []Shape{
			{Batch: 5, In: [3]int{1, 1, 20000}, InChannels: 1, OutChannels: 8, Kernel: [3]int{1, 1, 300}, Strides: [3]int{1, 1, 50}},
			{Batch: 3, In: [3]int{1, 1, 30000}, InChannels: 2, OutChannels: 9, Kernel: [3]int{1, 1, 300}, Strides: [3]int{1, 1, 40}, PadLow: [3]int{0, 0, 7}},
		} {
			rng := rand.New(rand.NewPCG(1, 20))
			check[float32](t, p, &several, 1)
			dy, kernel := random[float32](rng, several.sizeY()), random[float32](rng, several.sizeKernel())
			dx, one := scratchFor[float32](several.sizeX()), several
			BackwardData(p, &several, dy, kernel, dx, scratchFor[float32](BackwardDataScratch[float32](&several, p.Size())))
			one.Batch = 1
			want := scratchFor[float32](one.sizeX())
			for i := range several.Batch {
				BackwardData(p, &one, dy[i*one.sizeY():], kernel, want, scratchFor[float32](BackwardDataScratch[float32](&one, p.Size())))
				require.Equal(t, want, dx[i*len(want):(i+1)*len(want)])
			}
		}
	})
}

// TestOverlappingPhases does the same for small images and volumes whose phases cost more than windows.
func TestOverlappingPhases(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		overlapped := 0
		for seed := range uint64(300) {
			rng := rand.New(rand.NewPCG(seed, 23))
			s := Shape{Batch: 2 + rng.IntN(8), In: [3]int{1, 1, 1}, Kernel: [3]int{1, 1, 1}, Strides: [3]int{1, 1, 1}, InChannels: 1 + rng.IntN(8), OutChannels: 1 + rng.IntN(64)}
			for i := rng.IntN(2); i < 3; i++ {
				s.In[i], s.Kernel[i], s.Strides[i] = 5+rng.IntN(4), 4+rng.IntN(3), 2+rng.IntN(3)
				s.PadLow[i], s.PadHigh[i] = rng.IntN(4)-1, rng.IntN(4)-1
			}
			s.Dilation = [3]int{1 + rng.IntN(4)/3, 1 + rng.IntN(4)/3, 1}
			var d decisions
			if decide[float32](&d, &s, ofData); d.way != wayOverlap || overlaps[float32](&d.shape) { // the other test is about these
				continue
			}
			overlapped++
			check[float32](t, p, &s, seed)
			dy, kernel := random[float32](rng, s.sizeY()), random[float32](rng, s.sizeKernel())
			dx, one := scratchFor[float32](s.sizeX()), s
			BackwardData(p, &s, dy, kernel, dx, scratchFor[float32](BackwardDataScratch[float32](&s, p.Size())))
			one.Batch = 1
			want := scratchFor[float32](one.sizeX())
			for i := range s.Batch {
				BackwardData(p, &one, dy[i*one.sizeY():], kernel, want, scratchFor[float32](BackwardDataScratch[float32](&one, p.Size())))
				require.Equal(t, want, dx[i*len(want):(i+1)*len(want)], "%+v", s)
			}
		}
		require.Equal(t, isa.Active().Has(isa.Vectors256), overlapped > 10, "%d overlapped", overlapped)
	})
}
