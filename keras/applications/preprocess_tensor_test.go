package applications_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/layers"
)

// TestPreprocessTensor compares the operations that are recorded, and what they compute, with real Keras.
func TestPreprocessTensor(t *testing.T) {
	graphs := readPreprocessing(t).Graphs
	require.Len(t, graphs, 6)
	for _, c := range graphs {
		x := keras.Input(keras.Shape(c.Shape...))
		y := applications.PreprocessTensor(x, applications.PreprocessOptions{Mode: c.Mode, DataFormat: c.DataFormat})
		m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(y))
		require.NoError(t, err)
		text, err := m.ToJSON()
		require.NoError(t, err)
		var ours any
		require.NoError(t, json.Unmarshal(text, &ours))
		var found []string
		differences("", c.Config, ours, &found)
		assert.Empty(t, strings.Join(found, "\n"), "%s %s", c.Mode, c.DataFormat)
		pixels := make([]float32, 24)
		for i, u := range uniform("pixels", 24) {
			pixels[i] = float32(int((u + 1) * 128))
		}
		out, err := m.Predict(t.Context(), data.Arrays(data.Must(data.ArrayOf(pixels, append([]int{2}, c.Shape...)...)), nil))
		require.NoError(t, err)
		near(t, c.Output, out.Elements().([]float32), 1e-6)
	}
}

func TestPreprocessTensorErrors(t *testing.T) {
	for _, c := range []struct {
		x    *layers.KerasTensor
		want string
	}{
		{nil, "a tensor of the model is nil"},
		{keras.Input(keras.Shape(4, 4, 3), keras.DType("uint8")), `symbolic images must be of a float type, received (None, 4, 4, 3) uint8; apply layers.Op("cast", images, "float32") first`},
		{keras.Input(keras.Shape(4, 3)), "symbolic images must have four axes"},
		{keras.Input(keras.Shape(4, 4, 1)), `mode "caffe" is for 3 channels, received 1`},
	} {
		require.ErrorContains(t, applications.ResNet.PreprocessTensor(c.x).Err(), c.want)
	}
	x := keras.Input(keras.Shape(4, 4, 1), keras.DType("uint8"))
	assert.Same(t, x, applications.ConvNeXt.PreprocessTensor(x))
}
