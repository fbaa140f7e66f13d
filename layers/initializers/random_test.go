package initializers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Number i depends on the seed and i alone, however many goroutines draw.
func TestLargeDraws(t *testing.T) {
	n := 3*drawChunk + 5
	large, err := RandomNormal{}.Initialize(ir.Shape{n}, ir.Float32, 7)
	require.NoError(t, err)
	for _, count := range []int{5, drawChunk, 2*drawChunk + 3} {
		small, err := RandomNormal{}.Initialize(ir.Shape{count}, ir.Float32, 7)
		require.NoError(t, err)
		require.True(t, slices.Equal(large[:count], small), count)
	}
	require.NotZero(t, large[n-1])
}
