package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestApplyToOpenAxes: shapes with unknown axes are inferred with example lengths, which must not be too short for a
// layer.
func TestApplyToOpenAxes(t *testing.T) {
	none := layers.Unknown
	for _, window := range []int{3, 70, 300} {
		y := layers.Apply(&layers.Conv2D{Filters: 2, KernelSize: []int{window}}, layers.NewInput("x", ir.Float32, none, none, none, 1))
		require.NoError(t, y.Err(), "window %d", window)
		assert.Equal(t, ir.Shape{none, none, none, 2}, y.Shape())
	}
	y := layers.Apply(&layers.Conv2D{Filters: 2, KernelSize: []int{300}}, layers.NewInput("x", ir.Float32, none, 64, none, 1))
	require.ErrorContains(t, y.Err(), "longer than the input [None 64 None 1]")
	y = layers.Apply(&layers.Dense{Units: 2}, layers.NewInput("x", ir.Float32, none, none))
	require.ErrorContains(t, y.Err(), `weight "kernel" would have the shape [None 2], which follows an open axis`)
}
