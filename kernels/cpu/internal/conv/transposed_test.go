package conv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestTransposedPointwise: with a bias, a matrix product of few pixels is cut up differently, and needs other scratch
// memory.
func TestTransposedPointwise(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i, channels := range [][2]int{{512, 512}, {70, 900}, {900, 33}, {1, 300}, {300, 1}} {
			for _, pixels := range []int{1, 2, 16, 33} {
				s := Shape{Batch: 1 + i%2, In: [3]int{1, 1, pixels}, InChannels: channels[0], OutChannels: channels[1]}
				n := s.checked(ofData)
				require.True(t, n.pointwise())
				check[float32](t, p, &s, uint64(i))
				check[float64](t, p, &s, uint64(i))
			}
		}
	})
}
