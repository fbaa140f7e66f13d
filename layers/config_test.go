package layers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/layers"
)

// withoutNulls drops keys with null, which Keras writes for some features and we for others; both read either.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value != nil && key != "build_config" { // shapes of built members are not part of the configuration
				out[key] = withoutNulls(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = withoutNulls(value)
		}
		return out
	}
	return v
}

// TestKerasConfigs: Keras's configurations are read, and written as Keras wrote them.
func TestKerasConfigs(t *testing.T) {
	for _, set := range kerasSets {
		for _, c := range vectors.Load(t, set).Cases {
			l, err := layers.New(c.Class)
			require.NoError(t, err)
			require.NoError(t, config.Decode(c.Config, l), c.Name)
			o, err := layers.ToObject(l)
			require.NoError(t, err)
			text, err := json.Marshal(o["config"])
			require.NoError(t, err)
			var got, want any
			require.NoError(t, json.Unmarshal(text, &got))
			require.NoError(t, json.Unmarshal(c.Config, &want))
			got, want = withoutNulls(got), withoutNulls(want)
			for _, key := range writtenDifferently[c.Class] {
				delete(got.(map[string]any), key)
				delete(want.(map[string]any), key)
			}
			assert.Equal(t, want, got, c.Name)
			assert.Equal(t, "keras.layers", o["module"])
			assert.Equal(t, c.Class, o["class_name"])
		}
	}
}

// writtenDifferently lists keys that are written in another form, which Keras reads as well.
var writtenDifferently = map[string][]string{"LayerNormalization": {"rms_scaling"}}

// Members of a FeatureSpace in a file of Keras, and results that TensorFlow would store as sparse tensors, with the
// same numbers.
func TestFeatureLayersOfKeras(t *testing.T) {
	a, b := float32s([]int{1, 2}, 1, 2), float32s([]int{1, 1}, 3)
	joined, err := layers.FromObject(json.RawMessage(`{"class_name":"TFDConcat","config":{"name":"tfd_concat","axis":-1,"trainable":true}}`))
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 3}, invoke(t, joined, false, a, b).outputs[0].F)
	same, err := layers.FromObject(json.RawMessage(`{"class_name":"TFDIdentity","config":{"name":"tfd_identity","trainable":true}}`))
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2}, invoke(t, same, false, a).outputs[0].F)
	for _, sparse := range []string{"true", "false"} {
		l, err := layers.FromObject(json.RawMessage(`{"class_name":"CategoryEncoding","config":{"num_tokens":3,"output_mode":"multi_hot","sparse":` + sparse + `}}`))
		require.NoError(t, err)
		assert.Equal(t, []float64{0, 1, 1}, invoke(t, l, false, a).outputs[0].F)
	}
	text, err := layers.FromObject(json.RawMessage(`{"class_name":"TextVectorization","config":{"output_mode":"int","ragged":true,"vocabulary":["foo","bar"]}}`))
	require.NoError(t, err)
	padded, err := text.(*layers.TextVectorization).Transform(layers.HostStrings([]string{"foo bar", "bar"}, 2))
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 3, 3, 0}, padded.Ints)
}

// TestNamesInConfigs: an automatic name and a later freeze are written, but no name if the layer has none yet.
func TestNamesInConfigs(t *testing.T) {
	l := &layers.Dense{Units: 2}
	layers.SetTrainable(l, false)
	o, err := layers.ToObject(l)
	require.NoError(t, err)
	c := o["config"].(map[string]any)
	assert.Equal(t, false, c["trainable"])
}

// TestLayerAsActivation: an activation may be a layer, even one with weights.
func TestLayerAsActivation(t *testing.T) {
	l := &layers.Dense{Units: 2, KernelInitializer: "ones", Activation: &layers.PReLU{AlphaInitializer: "ones"}}
	y := invoke(t, l, false, float32s([]int{1, 2}, -3, 1)).outputs[0].F
	assert.Equal(t, []float64{-2, -2}, y)
	assert.Len(t, layers.TrainableWeights(l), 3)
	o, err := layers.ToObject(l)
	require.NoError(t, err)
	text, err := json.Marshal(o)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"class_name":"PReLU"`)
	back, err := layers.FromObject(text)
	require.NoError(t, err)
	assert.Equal(t, y, invoke(t, back, false, float32s([]int{1, 2}, -3, 1)).outputs[0].F)
	_, err = layers.FromObject(json.RawMessage(`{"class_name":"Dense","config":{"units":1,"activation":{"class_name":"Nonsense","config":{}}}}`))
	assert.ErrorContains(t, err, "unknown class")
}

// TestSharedWeight: the kernel that SpectralNormalization shares with its layer counts once, in Keras's order, and is
// trained if the layer is.
func TestSharedWeight(t *testing.T) {
	l := &layers.SpectralNormalization{Name: "s", Layer: &layers.Dense{Name: "d", Units: 2}}
	invoke(t, l, true, constant(1, 2, 3))
	var paths []string
	for _, v := range layers.Weights(l) {
		paths = append(paths, v.Path())
	}
	assert.Equal(t, []string{"s/d/kernel", "s/vector_u", "s/d/bias"}, paths)
	assert.Len(t, layers.TrainableWeights(l), 2)
	layers.SetTrainable(l.Layer, false)
	assert.Empty(t, layers.TrainableWeights(l))
}
