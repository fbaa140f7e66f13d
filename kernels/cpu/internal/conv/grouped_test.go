package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// groupsOf is a random convolution in groups of in inputs and out outputs.
func groupsOf(rng *rand.Rand, in, out, groups int) Shape {
	s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 1 + rng.IntN(12), 1 + rng.IntN(20)}, Groups: groups, InChannels: in * groups, OutChannels: out * groups,
		Kernel:  [3]int{1, 1 + rng.IntN(4), []int{3, 3, 3, 1, 2, 4, 5}[rng.IntN(7)]},
		Strides: [3]int{1, 1 + rng.IntN(4)/2, 1 + rng.IntN(4)/3}, Dilation: [3]int{1, 1 + rng.IntN(3)/2, 1 + rng.IntN(4)/3}}
	if rng.IntN(4) == 0 {
		s.In[0], s.PadLow[0], s.PadHigh[0], s.Strides[0] = 3, rng.IntN(2), rng.IntN(2), 1+rng.IntN(2)
	}
	for i := 1; i < 3; i++ {
		s.PadLow[i], s.PadHigh[i] = rng.IntN(5)-1, rng.IntN(5)-1
		if rng.IntN(2) == 0 {
			s.PadLow[i], s.PadHigh[i] = 1, 1
		}
	}
	return s
}

// TestVectorsOfGroups covers groups of few channels, several of which fill a vector, groups of whole vectors, and other
// groups: rows shorter and longer than a tile, outputs that see all taps, some or none, strides, dilation, planes along
// the depth, and enough images for many chunks or not.
func TestVectorsOfGroups(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(150)
		if testing.Short() {
			seeds = 80
		}
		byVectors := 0
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 5))
			size := []int{2, 4, 8, 16, 32, 3, 6, 24}[seed%8]
			in := size
			if rng.IntN(4) == 0 {
				in = 1 + rng.IntN(20)
			}
			s := groupsOf(rng, in, size, []int{2, 3, 4, 6, 8, 12, 16}[rng.IntN(7)])
			if size*s.Groups > 128 {
				s.Batch = 1
			} else if seed%16 == 3 {
				s.Batch = 20
			}
			check[float32](t, p, &s, seed)
			if n := s.normal(); groupedLanes[float32](&n) > 0 {
				byVectors++
			}
			if seed%8 == 0 {
				check[float64](t, p, &s, seed)
			}
		}
		require.Equal(t, isa.Active().Has(isa.Vectors256), byVectors > int(seeds)/8, "%d shapes of %d went by vectors", byVectors, seeds)
	})
}

// TestVectorsOfGroupsInPlans: a plan gives the bits of Forward.
func TestVectorsOfGroupsInPlans(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 6))
			s := groupsOf(rng, []int{2, 4, 8, 16}[seed%4], []int{2, 4, 8, 16}[seed%4], 8)
			checkPlan[float32](t, p, rng, &s)
		}
	})
}
