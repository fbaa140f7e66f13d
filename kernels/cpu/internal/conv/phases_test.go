package conv

import (
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestPhases compares strided convolutions whose input gradients go through all phases in several blocks of rows with
// the definition: for one image, for images that are joined, and for images that only some phases would join.
func TestPhases(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i, s := range []Shape{
			{Batch: 1, In: [3]int{1, 40, 40}},
			{Batch: 30, In: [3]int{1, 8, 8}},
			{Batch: 8, In: [3]int{1, 10, 10}},
		} {
			s.InChannels, s.OutChannels, s.Kernel, s.Strides = 16, 32, [3]int{1, 3, 3}, [3]int{1, 2, 2}
			s.PadLow, s.PadHigh = [3]int{0, 1, 1}, [3]int{0, 1, 1}
			check[float32](t, p, &s, uint64(i))
			check[float64](t, p, &s, uint64(i))
		}
	})
}
