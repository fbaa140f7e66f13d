package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// TestAttentionTakesMasksOff: what MultiHeadAttention is given has no mask afterwards, in Keras 3.15 with each of its
// backends: the result has the query's, and the sum of a residual connection none. GroupQueryAttention leaves masks.
func TestAttentionTakesMasksOff(t *testing.T) {
	masked := func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor {
		n := 0.0
		if in[0].Mask() != nil {
			n = 1
		}
		return ops.Full(in[0], in[0].DType(), n, in[0].Dim(0), 1)
	}
	for name, row := range map[string]struct {
		attention func() layers.Layer
		want      []float32
	}{
		"MultiHeadAttention": {func() layers.Layer { return &layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2} }, []float32{0, 1, 0, 0}},
		"GroupQueryAttention": {func() layers.Layer {
			return &layers.GroupQueryAttention{HeadDim: 2, NumQueryHeads: 2, NumKeyValueHeads: 1}
		}, []float32{1, 1, 1, 1}},
	} {
		in := keras.Input(keras.Shape(3), keras.DType("int32"))
		look := func(x *layers.KerasTensor) *layers.KerasTensor {
			return layers.Apply(&layers.Lambda{Function: masked}, x)
		}
		x := layers.Apply(&layers.Embedding{InputDim: 5, OutputDim: 4, MaskZero: true}, in)
		before := look(x)
		y := layers.Apply(row.attention(), x, x)
		sum := layers.Apply(&layers.Add{}, x, y)
		again := layers.Apply(row.attention(), sum, sum)
		out := layers.Apply(&layers.Concatenate{}, before, look(y), look(sum), look(again))
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out))
		require.NoError(t, err, name)
		got, err := m.PredictAll(t.Context(), data.Arrays([][]int32{{3, 2, 0}}, nil))
		require.NoError(t, err, name)
		require.Equal(t, row.want, got[0].Elements(), name)
	}
}
