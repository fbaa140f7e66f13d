package main

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/layers"
)

// TestComposedModels: a network of each kind predicts, its number says which it is, and together they have the layers
// that networks of layers in a row have not.
func TestComposedModels(t *testing.T) {
	seen := map[string]bool{}
	for number := range uint64(4 * len(compositions)) {
		d, err := composed(number)
		require.NoError(t, err, number)
		for _, l := range d.model.Layers() {
			seen[reflect.TypeOf(l).Elem().Name()] = true
			if o, ok := l.(*layers.Operation); ok {
				seen[o.ClassName()] = true
			}
		}
		if number >= uint64(len(compositions)) {
			continue
		}
		again, err := composed(number)
		require.NoError(t, err)
		assert.Equal(t, d.model.CountParams(), again.model.CountParams(), number)
		x, err := inputsFor(d.model, 2)
		require.NoError(t, err)
		y, err := d.model.PredictAll(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err, number)
		assert.Equal(t, 2, y[0].Shape()[0])
	}
	for _, name := range []string{"Conv2DTranspose", "UpSampling2D", "Concatenate", "Multiply", "Permute", "Reshape", "Conv3D", "MaxPooling3D", "ConvLSTM2D", "TimeDistributed",
		"Attention", "GroupQueryAttention", "RMSNormalization", "GlobalMaxPooling1D", "DepthwiseConv2D", "Embedding", "Bidirectional", "LeakyReLU", "PReLU", "GroupNormalization", "SeparableConv2D", "AveragePooling2D",
		"Roll", "Pad", "Sin", "Cumprod", "Softmax", "AveragePool", "ExtractPatches", "Normalize", "Std", "Transpose", "Matmul"} {
		assert.True(t, seen[name], "no network has a layer %s", name)
	}
}
