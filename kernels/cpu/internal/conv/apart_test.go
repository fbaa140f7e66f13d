package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestApart compares random convolutions in groups of a few inputs with the definition, on one to three axes.
func TestApart(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(5, 9))
		groupsApart, several := map[int]int{}, 0
		for i := range 70 {
			groups, in := 2+r.IntN(4), 2+r.IntN(apartInputs-1)
			s := &Shape{Batch: 1 + r.IntN(3), In: [3]int{1, 1 + r.IntN(7), 7 + r.IntN(8)}, InChannels: groups * in, OutChannels: groups * (4 + r.IntN(8)), Groups: groups,
				Kernel: [3]int{1, 1 + r.IntN(4), 2 + r.IntN(5)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(5)/4}, Dilation: [3]int{1, 1 + r.IntN(2), 1}}
			if r.IntN(4) == 0 {
				s.In[0], s.Kernel[0], s.Strides[0] = 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(2)
			}
			for a := range 3 {
				s.PadLow[a], s.PadHigh[a] = min(r.IntN(3), s.Kernel[a]-1), min(r.IntN(3), s.Kernel[a]-1)
			}
			if i == 30 { // more than are copied at a time
				*s = Shape{Batch: 30, In: [3]int{1, 14, 14}, InChannels: 16, OutChannels: 32, Groups: 8, Kernel: [3]int{1, 5, 5}, Strides: [3]int{1, 2, 2}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 2, 2}}
			}
			if n := s.checked(ofForward); apart[float32](&n) {
				groupsApart[in]++
				if n.apartImages(1) < n.Batch {
					several++
				}
			}
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
		}
		require.Len(t, groupsApart, apartInputs-1, "groups of each number of inputs: %v", groupsApart)
		require.Positive(t, several)
	})
}
