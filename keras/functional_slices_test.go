package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestCallersUseTheirSlicesAgain: a program that keeps its tensors in a slice and replaces them after they were applied
// has the same model as one that does not, in files too.
func TestCallersUseTheirSlicesAgain(t *testing.T) {
	inputs := []*layers.KerasTensor{keras.Input(keras.Shape(2)), keras.Input(keras.Shape(2))}
	columns := []*layers.KerasTensor{inputs[0], inputs[1]}
	wide := layers.Apply(&layers.Dense{Units: 3}, layers.Apply(&layers.Concatenate{}, columns...))
	for i, x := range columns {
		columns[i] = layers.Apply(&layers.Dense{Units: 3}, layers.Apply(&layers.Dense{Units: 5}, x))
	}
	outputs := []*layers.KerasTensor{layers.Apply(&layers.Add{}, append(columns, wide)...)}
	in, out := keras.Inputs(inputs...), keras.Outputs(outputs...)
	inputs[0], outputs[0], columns[0] = nil, nil, nil
	m, err := keras.NewFunctional(in, out)
	require.NoError(t, err)
	assert.Equal(t, 1*(4*3+3)+2*(2*5+5+5*3+3), m.CountParams())
	x := data.Arrays([]any{[][]float32{{1, 2}, {3, 4}}, [][]float32{{5, -6}, {7, 8}}}, nil)
	want, err := m.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "slices.keras")
	require.NoError(t, m.Save(path))
	read, err := keras.LoadModel(path)
	require.NoError(t, err)
	got, err := read.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
