package layers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// A Lambda that names a function of keras.ops computes it, with the file's arguments, and is written back unchanged.
func TestLambdaOfKerasFunctions(t *testing.T) {
	for _, c := range []struct {
		config string
		shape  ir.Shape
		want   []float64
	}{
		{`{"name": "l", "trainable": true, "dtype": "float32", "function": {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"}, "arguments": {}}`, ir.Shape{2, 2}, []float64{0, 2, 0, 4}},
		{`{"name": "l", "trainable": true, "dtype": "float32", "function": {"module": "builtins", "class_name": "function", "config": "mean", "registered_name": "function"}, "arguments": {"axis": -1, "keepdims": true}}`, ir.Shape{2, 1}, []float64{0.5, 0.5}},
	} {
		l := &layers.Lambda{}
		require.NoError(t, config.Decode(json.RawMessage(c.config), l))
		y, err := evaluate(l, false, []tensor{in(ir.Shape{2, 2}, -1, 2, -3, 4)})
		require.NoError(t, err)
		require.Equal(t, c.shape, y.Type.Shape)
		for i, want := range c.want {
			require.InDelta(t, want, y.At(i), 1e-6)
		}
		written, err := config.Encode(l)
		require.NoError(t, err)
		text, err := json.Marshal(written)
		require.NoError(t, err)
		var got, want map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		require.NoError(t, json.Unmarshal([]byte(c.config), &want))
		require.Equal(t, want["function"], got["function"])
		if len(want["arguments"].(map[string]any)) > 0 {
			require.Equal(t, want["arguments"], got["arguments"])
		}
	}
	bad := `{"function": {"module": "builtins", "class_name": "function", "config": "mean", "registered_name": "function"}, "arguments": {"axes": 1}}`
	l := &layers.Lambda{}
	require.NoError(t, config.Decode(json.RawMessage(bad), l))
	_, err := evaluate(l, false, []tensor{in(ir.Shape{2}, 1, 2)})
	require.ErrorContains(t, err, `has no argument "axes"`)
}
