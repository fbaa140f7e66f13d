package keras_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

func TestOutputsAndIterations(t *testing.T) {
	in := keras.Input(keras.Shape(2))
	out := layers.Apply(&layers.Dense{Units: 1}, in)
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out))
	require.NoError(t, err)
	require.Equal(t, []*layers.KerasTensor{out}, m.Outputs())
	_, err = m.Iterations()
	require.ErrorContains(t, err, "Compile")
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	n, err := m.Iterations()
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = m.Fit(t.Context(), data.Arrays(make([][2]float32, 5), make([][1]float32, 5)), keras.BatchSize(2), keras.Epochs(2))
	require.NoError(t, err)
	n, err = m.Iterations()
	require.NoError(t, err)
	require.Equal(t, int64(6), n)

	chain, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	require.NoError(t, err)
	require.Nil(t, chain.Outputs())
}

// What Export traces must not change what Summary shows.
func TestExportLeavesTheShapes(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(3))
	require.NoError(t, err)
	before := layers.OutputTypes(m.Layers()[0])
	require.NoError(t, m.Export(filepath.Join(t.TempDir(), "m.onnx")))
	require.Equal(t, before, layers.OutputTypes(m.Layers()[0]))
}

func ExampleModel_Export() {
	dir, err := os.MkdirTemp("", "export")
	check(err)
	defer os.RemoveAll(dir)
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 8, Activation: "relu"},
		&layers.Dense{Units: 2, Activation: "softmax"},
	}, keras.InputShape(4))
	check(err)
	path := filepath.Join(dir, "model.onnx")
	check(model.Export(path)) // its input "input_layer" takes batches of any size
	_, err = os.Stat(path)
	fmt.Println(err)
	// Output: <nil>
}
