package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestLastPanels: the weights of few outputs take only as much memory as the vectors that they fill. Convolutions and
// gradients whose last panels have any width, in groups too, agree with the definition.
func TestLastPanels(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(9, 10))
		width := micro.PanelWidth[float32]()
		for i := range 24 {
			groups := []int{1, 2, 5}[r.IntN(3)]
			out := 1 + r.IntN(width+8)
			s := &Shape{Batch: 1 + r.IntN(3), In: [3]int{1 + r.IntN(3), 3 + r.IntN(5), 3 + r.IntN(5)}, InChannels: groups * (7 + r.IntN(40)), OutChannels: groups * out, Groups: groups,
				Kernel: [3]int{1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(3)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(2)}}
			for a := range 3 {
				s.PadLow[a], s.PadHigh[a] = r.IntN(2), s.Kernel[a]-1
			}
			n := s.checked(ofForward)
			lanes := micro.PadColumns[float32](1)
			assert.Less(t, packedColumns[float32](&n, out), out+lanes, "%d columns", out)
			whole := (out - 1) / width * width
			require.Equal(t, packedColumns[float32](&n, out), whole+panelStep[float32](&n, out, whole))
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
		}
		pairs := Shape{Pairs: true}
		require.Equal(t, width, packedColumns[float32](&pairs, 1), "matrix registers read whole panels")
	})
}

// TestFewOutputsStayNear: in scratch memory, a kernel of few outputs does not take the memory of a whole panel.
func TestFewOutputsStayNear(t *testing.T) {
	forLevels(t, func(t *testing.T, _ *pool.Pool) {
		s := Shape{Batch: 1, In: [3]int{10, 10, 10}, InChannels: 294, OutChannels: 18, Groups: 6, Kernel: [3]int{7, 7, 7}, Strides: [3]int{3, 3, 3}, PadHigh: [3]int{6, 6, 6}}
		size := micro.PadColumns[float32](3) * 343 * 294
		require.LessOrEqual(t, ForwardScratch[float32](&s, 1), size+1<<14)
		require.LessOrEqual(t, BackwardDataScratch[float32](&s, 1), 343*18*micro.PadColumns[float32](49)+1<<14)
	})
}
