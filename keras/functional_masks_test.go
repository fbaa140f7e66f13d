package keras_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// promisedMasks are what Keras predicts in TestAttentionLeavesPromisedMasks.
var promisedMasks = [][]float64{
	{-0.0296299, 0.0563004}, {0.2389181, -0.0525743}, {0.2270172, 0.5352274, -0.5251545, -0.1304511}, {0.2084782, -0.2845688, -0.290556, -0.7287644},
	{0.4354955, 0.2506587, -0.8157105, -0.8592155}, {0.1809321, -0.6392668, 0.3954878, -0.3202213}, {1.2936335, -0.4576363, 0.9000793, -0.4515874},
	{0.9998446, 0.9727007}, {0.9739004, 0.8374097, 0.6759877, 0.6850608},
}

// TestAttentionLeavesPromisedMasks: MultiHeadAttention takes masks off, but layers of a Functional model that take a
// mask as an argument have the one of the symbolic tensors, whether their calls are before or after attention's. The
// numbers are those of Keras 3.15 on JAX for the same weights.
func TestAttentionLeavesPromisedMasks(t *testing.T) {
	in := keras.Input(keras.Shape(4), keras.DType("int32"))
	x := layers.Apply(&layers.Embedding{InputDim: 5, OutputDim: 2, MaskZero: true}, in)
	before := layers.Apply(&layers.LSTM{Units: 1}, x)
	y := layers.Apply(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}, x, x)
	sum := layers.Apply(&layers.Add{}, x, y)
	normal := layers.Apply(&layers.LayerNormalization{}, sum)
	again := layers.Apply(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}, normal, normal)
	mean := func(x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.GlobalAveragePooling1D{}, x)
	}
	whole := layers.Apply(&layers.Add{}, normal, again)
	outputs := []*layers.KerasTensor{before, layers.Apply(&layers.GRU{Units: 1}, x), mean(x), mean(y), mean(sum), mean(layers.Apply(&layers.Dense{Units: 2}, normal)), mean(again),
		layers.Apply(&layers.SimpleRNN{Units: 1}, whole), layers.Apply(&layers.Bidirectional{Layer: &layers.SimpleRNN{Units: 1}}, layers.Apply(&layers.Dropout{Rate: 0.1}, x))}
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(outputs...))
	require.NoError(t, err)
	// The weights are in another order than Keras's, which follows the distance from the outputs: each is filled by its
	// own shape.
	var weights []kernels.Array
	for _, w := range m.Weights() {
		v := make([]float64, w.Type().Shape.Size())
		for i := range v {
			v[i] = math.Sin(float64(i) + float64(len(v)))
		}
		a, err := kernels.FromFloat64s(w.Type().DType, w.Type().Shape, v)
		require.NoError(t, err)
		weights = append(weights, a)
	}
	require.NoError(t, m.SetWeights(weights))
	for range 2 {
		got, err := m.PredictAll(t.Context(), data.Arrays([][]int32{{1, 2, 0, 0}, {3, 4, 1, 0}}, nil))
		require.NoError(t, err)
		require.Len(t, got, len(promisedMasks))
		for i, want := range promisedMasks {
			assert.InDeltaSlice(t, want, got[i].Float64s(), 1e-5, "output %d", i)
		}
		document, err := m.ToJSON()
		require.NoError(t, err)
		read, err := keras.ModelFromJSON(document)
		require.NoError(t, err)
		weights, err := m.GetWeights()
		require.NoError(t, err)
		require.NoError(t, read.SetWeights(weights))
		m = read
	}
}
