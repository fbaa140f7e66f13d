package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestSeedsOfEqualModels checks the promises of Seed's documentation about models that are created one after the other:
// they are equal without a seed, and differ with different seeds, by themselves and as parts of one model. Layers of
// one model always differ.
func TestSeedsOfEqualModels(t *testing.T) {
	make := func(options ...keras.Option) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4}, &layers.Dense{Units: 4}}, append(options, keras.InputShape(4))...)
		require.NoError(t, err)
		return m
	}
	kernels := func(m *keras.Model) [][]float32 {
		w, err := m.GetWeights()
		require.NoError(t, err)
		return [][]float32{w[0].Float32s(), w[2].Float32s()}
	}
	first := kernels(make())
	require.NotEqual(t, first[0], first[1], "layers of one model")
	require.Equal(t, first, kernels(make()))
	require.Equal(t, first, kernels(make(keras.Seed(0))))
	other := make(keras.Seed(1))
	for i, k := range kernels(other) {
		require.NotEqual(t, first[i], k)
	}
	in := keras.Input(keras.Shape(4))
	_, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(make(), in), layers.Apply(other, in)))
	require.NoError(t, err)
	require.NotEqual(t, first, kernels(other), "in an ensemble")
}
