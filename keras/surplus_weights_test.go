package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Weights in a file for a layer that has none are an error, as in Keras, and so are those for a layer that has others.
func TestSurplusWeights(t *testing.T) {
	model := func(l layers.Layer) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
		require.NoError(t, err)
		return m
	}
	path := t.TempDir() + "/m.weights.h5"
	require.NoError(t, model(&layers.LayerNormalization{Name: "n"}).SaveWeights(path))
	err := model(&layers.LayerNormalization{Name: "n", NoScale: true, NoCenter: true}).LoadWeights(path)
	require.ErrorContains(t, err, `layer "n" (LayerNormalization) expected 0 variables, but the file has 2 at layers/layer_normalization/vars`)
}
