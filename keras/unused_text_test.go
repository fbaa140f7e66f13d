package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestUnusedText: a model may have a text input that no layer reads, as in Keras, in addition to numbers or text that
// are read, and inside another model.
func TestUnusedText(t *testing.T) {
	numbers := keras.Input(keras.InputName("numbers"), keras.Shape(2))
	note := keras.Input(keras.InputName("note"), keras.Shape(1), keras.DType("string"))
	m, err := keras.NewFunctional(keras.Inputs(note, numbers), keras.Outputs(layers.Apply(&layers.Dense{Units: 1, KernelInitializer: "ones"}, numbers)))
	require.NoError(t, err)
	x := data.Must(data.ArrayOf([]float32{1, 2, 3, 4}, 2, 2))
	words, err := data.Text([]string{"a", "b"}, 2, 1)
	require.NoError(t, err)
	check := func(m *keras.Model, want []float32, arrays ...data.Array) {
		t.Helper()
		y, err := m.Predict(t.Context(), data.Arrays(data.List(arrays...), nil))
		require.NoError(t, err)
		require.Equal(t, want, y.Elements())
	}
	check(m, []float32{3, 7}, words, x)
	y, err := m.Predict(t.Context(), data.Arrays(data.Dict(map[string]data.Array{"note": words, "numbers": x}), nil))
	require.NoError(t, err)
	require.Equal(t, []float32{3, 7}, y.Elements())

	path := filepath.Join(t.TempDir(), "model.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	check(again, []float32{3, 7}, words, x)

	outerNote := keras.Input(keras.Shape(1), keras.DType("string"))
	outerNumbers := keras.Input(keras.Shape(2))
	inner := layers.Apply(m, outerNote, outerNumbers)
	encoded := layers.Apply(&layers.StringLookup{Vocabulary: []string{"a", "b"}, OutputMode: "one_hot"}, outerNote)
	outer, err := keras.NewFunctional(keras.Inputs(outerNote, outerNumbers), keras.Outputs(layers.Apply(&layers.Concatenate{}, inner, encoded)))
	require.NoError(t, err)
	check(outer, []float32{3, 0, 1, 0, 7, 0, 0, 1}, words, x)

	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "sgd"}))
	h, err := m.Fit(t.Context(), data.Arrays(data.List(words, x), []float32{3, 8}), keras.ValidationSplit(0.5))
	require.NoError(t, err)
	require.InDelta(t, 0, h.Logs["loss"][0], 1e-9)
	require.InDelta(t, 1, h.Logs["val_loss"][0], 1e-6)
}
