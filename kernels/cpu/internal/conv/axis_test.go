package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNextPhase: it visits the phases that a tap meets, and the first of those that no tap meets.
func TestNextPhase(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 11))
	for range 300 {
		s := Shape{}
		for i := range 3 {
			s.In[i], s.Kernel[i], s.Strides[i], s.Dilation[i], s.PadLow[i] = 1+rng.IntN(20), 1+rng.IntN(4), 1+rng.IntN(9), 1+rng.IntN(3), rng.IntN(5)
		}
		for i := range 3 {
			var want, got []int
			empty := false
			for residue := range s.phases(i) {
				taps := s.backwardPhase(i, residue, s.In).axis.taps
				if taps > 0 || !empty {
					want = append(want, residue)
				}
				empty = empty || taps == 0
			}
			for at := s.nextPhase(i, 0); at < s.phases(i); at = s.nextPhase(i, at+1) {
				got = append(got, at)
			}
			require.Equal(t, want, got, "%+v", s)
		}
	}
}

// TestScratchOfFarStrides: the scratch memory of an input gradient is computed quickly, however far apart its taps are.
func TestScratchOfFarStrides(t *testing.T) {
	far := Shape{Batch: 1, In: [3]int{1, 1, 4 * math.MaxInt32}, Kernel: [3]int{1, 1, 3}, Strides: [3]int{1, 1, math.MaxInt32}, Dilation: [3]int{1, 1, 1}, InChannels: 3, OutChannels: 2, Groups: 1}
	near := far
	near.In[2], near.Strides[2] = 4*9, 9
	require.Equal(t, TransposedScratch[float32](&near, 1, false), TransposedScratch[float32](&far, 1, false))
}
