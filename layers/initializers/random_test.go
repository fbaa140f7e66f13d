package initializers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Number i depends only on the seed and i, however many goroutines draw.
func TestLargeDraws(t *testing.T) {
	n := 3*drawChunk + 5
	draw := func(count int) []float64 {
		a := kernels.NewArray(ir.Type{DType: ir.Float64, Shape: ir.Shape{count}})
		require.NoError(t, RandomNormal{}.Initialize(a, 7))
		return a.Float64s()
	}
	large := draw(n)
	for _, count := range []int{5, drawBlock, drawBlock + 1, drawChunk, 2*drawChunk + 3} {
		require.True(t, slices.Equal(large[:count], draw(count)), count)
	}
	require.NotZero(t, large[n-1])
}

// A number does not depend on where the range begins with which it is drawn.
func TestRangesOfDraws(t *testing.T) {
	same := func(n float64) float64 { return n }
	whole := make([]float64, 3000)
	drawRange(whole, 0, 7, same)
	for _, from := range []int{2, 1024, 2998} {
		part := make([]float64, len(whole)-from)
		drawRange(part, from, 7, same)
		require.Equal(t, whole[from:], part, from)
	}
}
