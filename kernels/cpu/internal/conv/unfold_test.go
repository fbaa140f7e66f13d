package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestUnfolding covers small volumes of many channels, and more of them than are unfolded at a time.
func TestUnfolding(t *testing.T) {
	defer byRulesAVX2.Without()() // which never unfold
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		unfolded := 0
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 7))
			s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{2 + rng.IntN(5), 2 + rng.IntN(5), 2 + rng.IntN(8)}, Groups: 1, InChannels: 1 + rng.IntN(3), OutChannels: 64 + rng.IntN(40),
				Kernel: [3]int{2 + rng.IntN(3), 1 + rng.IntN(3), 1 + rng.IntN(4)}, Strides: [3]int{1 + rng.IntN(2), 1 + rng.IntN(2), 1 + rng.IntN(2)}, Dilation: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(2)}}
			for i := range 3 {
				s.PadLow[i], s.PadHigh[i] = rng.IntN(4)-1, rng.IntN(4)-1
			}
			if n := s.checked(ofForward); n.unfolds() {
				unfolded++
			}
			check[float32](t, p, &s, seed)
			check[float64](t, p, &s, seed)
		}
		several := Shape{Batch: 5, In: [3]int{7, 7, 7}, InChannels: 170, OutChannels: 64, Kernel: [3]int{3, 3, 3}, PadLow: [3]int{1, 1, 1}, PadHigh: [3]int{1, 1, 1}}
		rng := rand.New(rand.NewPCG(1, 8))
		x, kernel := random[float32](rng, several.sizeX()), random[float32](rng, several.sizeKernel())
		y, one := scratchFor[float32](several.sizeY()), several
		Forward(p, &several, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](&several, p.Size())))
		one.Batch = 1
		want := scratchFor[float32](one.sizeY())
		for i := range 5 {
			Forward(p, &one, x[i*one.sizeX():], kernel, nil, false, want, scratchFor[float32](ForwardScratch[float32](&one, p.Size())))
			require.Equal(t, want, y[i*len(want):(i+1)*len(want)])
		}
		require.Greater(t, unfolded, 10)
	})
}
