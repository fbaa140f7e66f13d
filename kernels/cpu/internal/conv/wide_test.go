package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestWideStrides compares convolutions of few channels, with one to three filters each and strides, with the
// definition: rows that several pieces compute and such that are shorter than a vector, strides longer than the window,
// outputs that see nothing.
func TestWideStrides(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(240)
		if testing.Short() {
			seeds = 60
		}
		wide := 0
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 9))
			channels, filters := 2+r.IntN(6), 1+r.IntN(5)/3*r.IntN(3)
			s := &Shape{Batch: 1 + r.IntN(3), In: [3]int{1 + r.IntN(5)/4, 1 + r.IntN(12), 1 + r.IntN(80)}, Groups: channels, InChannels: channels, OutChannels: channels * filters,
				Kernel: [3]int{1, 1 + r.IntN(5), 1 + r.IntN(9)}, Strides: [3]int{1, 1 + r.IntN(4), 2 + r.IntN(8)}, Dilation: [3]int{1, 1 + r.IntN(2), 1}}
			for i := 1; i < 3; i++ {
				s.PadLow[i], s.PadHigh[i] = r.IntN(7)-2, r.IntN(7)-2
			}
			if isWideForward[float32](s) {
				wide++
			}
			check[float32](t, p, s, seed)
		}
		require.True(t, wide > 30 || micro.NarrowChannels[float32]() < 8, "%d", wide)
	})
}
