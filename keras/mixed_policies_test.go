package keras_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestTypesOfLayersInsideOfOthers: the result types of layers with a policy of their own inside other layers, as in
// Keras 3.15.
func TestTypesOfLayersInsideOfOthers(t *testing.T) {
	stack := func(first, second string) layers.RNNCell {
		return &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.LSTMCell{Units: 2, DType: first}, &layers.GRUCell{Units: 3, DType: second}}, DType: "bfloat16"}
	}
	for name, c := range map[string]struct {
		l    layers.Layer
		want ir.DType
	}{
		"a stack of cells of several types":   {&layers.RNN{Cell: stack("float64", "float32"), ReturnSequences: true, DType: "bfloat16"}, ir.BFloat16},
		"the last result of such a stack":     {&layers.RNN{Cell: stack("mixed_bfloat16", "float64"), ReturnState: true}, ir.Float32},
		"steps compute in the wrapper's type": {&layers.TimeDistributed{Layer: &layers.Dense{Units: 2, DType: "mixed_bfloat16"}}, ir.Float32},
		"or in half of it":                    {&layers.TimeDistributed{Layer: &layers.LeakyReLU{DType: "float64"}, DType: "mixed_float16"}, ir.Float16},
		"but for normalization":               {&layers.TimeDistributed{Layer: &layers.LayerNormalization{DType: "float32"}, DType: "mixed_bfloat16"}, ir.Float32},
		"or in that of what they cast to":     {&layers.TimeDistributed{Layer: &layers.Rescaling{Scale: []float64{2}, DType: "bfloat16"}, DType: "float16"}, ir.BFloat16},
		"as normalization by constants":       {&layers.TimeDistributed{Layer: &layers.Normalization{Mean: []float64{1}, Variance: []float64{2}, DType: "mixed_float16"}}, ir.Float16},
		"and models":                          {&layers.TimeDistributed{Layer: unbuiltStack(t, &layers.Dense{Units: 2, DType: "bfloat16"})}, ir.BFloat16},
	} {
		m, err := keras.NewSequential([]layers.Layer{c.l}, keras.InputShape(4, 3))
		require.NoError(t, err, name)
		y, err := m.PredictAll(t.Context(), data.Arrays(data.Must(data.ArrayOf(make([]float32, 24), 2, 4, 3)), nil))
		require.NoError(t, err, name)
		require.NotEmpty(t, y)
		require.Equal(t, c.want, layers.OutputTypes(c.l)[0].DType, name)
	}
	ids := keras.Input(keras.Shape(4), keras.DType("int32"))
	rows := layers.Apply(&layers.Embedding{InputDim: 5, OutputDim: 4, DType: "int4/2_from_mixed_float16"}, ids)
	require.NoError(t, rows.Err())
	require.Equal(t, ir.Float16, rows.DType(), "the scales are float32")
}

func unbuiltStack(t *testing.T, all ...layers.Layer) *keras.Model {
	m, err := keras.NewSequential(all)
	require.NoError(t, err)
	return m
}

// TestPoliciesOfModelsInside: layers without a policy have that of the enclosing model, even if they were built before,
// and documents say so whatever policy a Sequential model had.
func TestPoliciesOfModelsInside(t *testing.T) {
	document := []byte(`{"class_name": "Sequential", "config": {"name": "outer", "dtype": "float32", "layers": [
		{"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "float32", "name": "x"}},
		{"class_name": "Sequential", "config": {"name": "inner", "dtype": "float32", "layers": [
			{"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "float32", "name": "y"}},
			{"class_name": "Dense", "config": {"name": "dense", "units": 2}}]}}]}}`)
	m, err := keras.ModelFromJSON(document, keras.DTypePolicy("float64"))
	require.NoError(t, err)
	require.Equal(t, ir.Float64, m.Weights()[0].Type().DType)
	again, err := m.ToJSON()
	require.NoError(t, err)
	var o struct {
		Config struct {
			DType  json.RawMessage
			Layers []json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(again, &o))
	require.Contains(t, string(o.Config.DType), `"name":"float64"`, "not the one of the document")
	require.Contains(t, string(o.Config.Layers[1]), `"name":"float64"`)
	m, err = keras.ModelFromJSON(again)
	require.NoError(t, err)
	require.Equal(t, ir.Float64, m.Weights()[0].Type().DType)
}
