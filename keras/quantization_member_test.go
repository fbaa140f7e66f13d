package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// attentive returns a model with attention inside another model; the layers have a policy or a map.
func attentive(t *testing.T, policy string) *keras.Model {
	inner := keras.Input(keras.Shape(3, 4))
	y := layers.Apply(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, Name: "heads", DType: policy}, inner, inner)
	part, err := keras.NewFunctional(keras.Inputs(inner), keras.Outputs(y), keras.Name("part"))
	require.NoError(t, err)
	x := keras.Input(keras.Shape(3, 4))
	z := layers.Apply(part, x)
	z = layers.Apply(&layers.GroupQueryAttention{HeadDim: 2, NumQueryHeads: 2, NumKeyValueHeads: 1, Name: "group", DType: policy}, z, x)
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(z), keras.Name("whole"))
	require.NoError(t, err)
	return m
}

// TestFilesOfQuantizedAttention: the projections inside attention have no configuration, so the file records their
// quantization in the policy of attention. Keras 3.15 writes such models without recording it, and cannot open them.
func TestFilesOfQuantizedAttention(t *testing.T) {
	m, err := ops.NewDTypePolicyMap("float32")
	require.NoError(t, err)
	require.NoError(t, m.Set("heads/key", "mixed_bfloat16"))
	values := make([]float32, 24)
	for i := range values {
		values[i] = float32(i%7-3) / 4
	}
	x := data.Arrays(data.Must(data.ArrayOf(values, 2, 3, 4)), nil)
	for _, policy := range []string{"", "float64", "mixed_bfloat16", m.String()} {
		for _, mode := range []string{"int8", "int4", "float8", "gptq", "awq"} {
			t.Run(policy+" "+mode, func(t *testing.T) {
				model := attentive(t, policy)
				quantize := func(m *keras.Model, filter func(layers.Layer) bool) error {
					if how, ok := map[string]quantizers.Calibrator{"gptq": &quantizers.GPTQConfig{GroupSize: 2, ActivationOrder: true}, "awq": &quantizers.AWQConfig{GroupSize: -1}}[mode]; ok {
						return m.QuantizeWith(t.Context(), how, keras.Calibration{Data: x}, filter)
					}
					return m.Quantize(mode, filter)
				}
				value := func(l layers.Layer) bool { return layers.Name(l) == "value" }
				require.NoError(t, quantize(model, func(l layers.Layer) bool { return !value(l) }))
				want, err := model.Predict(t.Context(), x)
				require.NoError(t, err)
				path := filepath.Join(t.TempDir(), "model.keras")
				require.NoError(t, model.Save(path))
				again, err := keras.LoadModel(path)
				require.NoError(t, err)
				for i, v := range model.Weights() {
					require.Equal(t, v.Type(), again.Weights()[i].Type(), v.Path())
				}
				got, err := again.Predict(t.Context(), x)
				require.NoError(t, err)
				require.Equal(t, want.Float64s(), got.Float64s())
				require.NoError(t, quantize(again, value))
				require.NoError(t, again.Save(path))
				again, err = keras.LoadModel(path)
				require.NoError(t, err)
				require.ErrorContains(t, quantize(again, value), "quantized already")
			})
		}
	}
	model := attentive(t, "")
	require.NoError(t, model.Quantize(&quantizers.Int8QuantizationConfig{WeightsOnly: true}))
	require.ErrorContains(t, model.Save(filepath.Join(t.TempDir(), "model.keras")), "variables")
}
