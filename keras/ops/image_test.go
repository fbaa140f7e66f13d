package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestAdaptivePoolingOfOne: one cell covers an axis, and an axis of one element fills every cell.
func TestAdaptivePoolingOfOne(t *testing.T) {
	x, err := reference.New(ir.Float32, ir.Shape{1, 4, 1, 1}, 1, 2, 3, 6)
	require.NoError(t, err)
	g := ops.NewGraph("adaptive")
	in := g.Input("x", ir.Float32, 1, 4, 1, 1)
	for _, y := range []*ops.Tensor{ops.AdaptiveAveragePool(in, 1, 3), ops.AdaptiveMaxPool(in, 1, 1), ops.AdaptiveAveragePool(in, 2, 1)} {
		g.Program().AddOutput("y", ops.In(g, y))
	}
	out, err := reference.Run(g.Program(), []reference.Value{x})
	require.NoError(t, err)
	require.Equal(t, []float64{3, 3, 3}, out[0].F)
	require.Equal(t, []float64{6}, out[1].F)
	require.Equal(t, []float64{1.5, 4.5}, out[2].F)
}
