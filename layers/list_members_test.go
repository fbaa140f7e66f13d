package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Lists of one layer are lists in files, as in Keras: cells/lstm_cell/vars, not cells/vars.
func TestListsOfOneLayer(t *testing.T) {
	stack := &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.LSTMCell{Units: 2}}}
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 3, 4)
	require.NoError(t, layers.Apply(&layers.RNN{Cell: stack}, x).Err())
	require.Equal(t, []layers.Attribute{{Name: "cells", List: []layers.Attribute{{Layer: stack.Cells[0]}}}}, layers.AttributesOf(stack))

	pipeline := &layers.Pipeline{Layers: []layers.Layer{&layers.Dense{Units: 2}}}
	require.NoError(t, layers.Apply(pipeline, x).Err())
	require.Equal(t, []layers.Attribute{{Name: "_pipeline_layers", List: []layers.Attribute{{Layer: pipeline.Layers[0]}}}}, layers.AttributesOf(pipeline))
}
