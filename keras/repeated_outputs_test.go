package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestRepeatedOutputs: what is given by a layer's name applies to each output that is a result of the layer, as in
// Keras, whose numbers these are.
func TestRepeatedOutputs(t *testing.T) {
	x := keras.Input(keras.Shape(2))
	a := layers.Apply(&layers.Dense{Units: 1, KernelInitializer: "ones", Name: "a"}, x)
	b := layers.Apply(&layers.Dense{Units: 1, KernelInitializer: "ones", Name: "b"}, x)
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(a, b, a))
	require.NoError(t, err)
	compile(t, m, keras.CompileConfig{
		Optimizer: "sgd", Loss: map[string]string{"a": "mse", "b": "mae"}, LossWeights: map[string]float64{"a": 2, "b": 1}, Metrics: map[string][]string{"a": {"mae"}},
	})
	batch := data.Arrays([][]float32{{1, 2}}, []any{[][]float32{{0}}, [][]float32{{0}}, [][]float32{{1}}})
	scores, err := m.Evaluate(context.Background(), batch)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"loss": 29, "a_loss": 9, "b_loss": 3, "a_1_loss": 4, "a_mae": 3, "a_1_mae": 2}, map[string]float64(scores))
	require.NoError(t, fit(m, batch))
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for i, want := range [][]float64{{0.8, 0.6}, {-0.2}, {0.99, 0.98}, {-0.01}} {
		require.InDeltaSlice(t, want, weights[i].Float64s(), 1e-6)
	}
	require.ErrorContains(t, m.Compile(keras.CompileConfig{Loss: map[string]string{"a": "mse"}}), `the map has no entry for output "b"`)
}

// TestNamesOfRepeatedOutputs: each output has a unique name, even if a layer is named like another one with a number
// appended.
func TestNamesOfRepeatedOutputs(t *testing.T) {
	x := keras.Input(keras.Shape(2))
	a := layers.Apply(&layers.Dense{Units: 1, Name: "a"}, x)
	other := layers.Apply(&layers.Dense{Units: 1, Name: "a_1"}, x)
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(a, a, other, a))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "a_2", "a_1", "a_3"}, m.OutputNames())
	compile(t, m, keras.CompileConfig{Optimizer: "sgd", Loss: map[string]string{"a": "mse", "a_1": "mae", "a_3": "mae"}})
	y := [][]float32{{1}}
	scores, err := m.Evaluate(context.Background(), data.Arrays([][]float32{{1, 2}}, []any{y, y, y, y}))
	require.NoError(t, err)
	require.Len(t, scores, 5)

	state, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.ApplyAll(&layers.LSTM{Units: 2, ReturnState: true, Name: "l"}, layers.Apply(&layers.Reshape{TargetShape: []int{1, 2}}, x))...))
	require.NoError(t, err)
	require.NoError(t, state.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: map[string]string{"l": "mse"}}))
}
