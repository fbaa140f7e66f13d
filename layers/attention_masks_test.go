package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestAttentionTakesMasksOff: after a call of MultiHeadAttention its inputs have no mask, as in Keras 3.15 with each of
// its backends: the result has the query's mask, and the sum of a residual connection none. GroupQueryAttention keeps
// masks.
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

// residual is a custom layer that adds attention's result to its input.
type residual struct {
	layers.Base
	Attention *layers.MultiHeadAttention
}

func (l *residual) SupportsMasking() bool { return true }

func (l *residual) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Add(layers.Invoke(l.Attention, c, in[0], in[0]), in[0])}
}

// TestAttentionTakesMasksOffWhatItIsGiven: if an input is cast for the layer, only the copy loses its mask; an input
// that passed unchanged through other layers or models loses it everywhere; and a custom layer's result has the mask
// that its input had before. The rows are Keras 3.15's masks of x, of attention's input, of its result, and of their
// sum.
func TestAttentionTakesMasksOffWhatItIsGiven(t *testing.T) {
	masked := func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor {
		n := 0.0
		if in[0].Mask() != nil {
			n = 1
		}
		return ops.Full(in[0], ir.Float32, n, in[0].Dim(0), 1)
	}
	const half = "mixed_bfloat16"
	attend := func(policy string) func(z *layers.KerasTensor) *layers.KerasTensor {
		return func(z *layers.KerasTensor) *layers.KerasTensor {
			return layers.Apply(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2, DType: policy}, z, z)
		}
	}
	nested := func(policy string) func(z *layers.KerasTensor) *layers.KerasTensor {
		return func(z *layers.KerasTensor) *layers.KerasTensor {
			in := keras.Input(keras.Shape(3, 4))
			m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(attend(policy)(in)))
			require.NoError(t, err)
			return layers.Apply(m, z)
		}
	}
	own := func(z *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&residual{Attention: &layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}}, z)
	}
	given := func(z *layers.KerasTensor) *layers.KerasTensor {
		mask := layers.Apply(&layers.Lambda{Function: func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor {
			return ops.CompareScalar(ir.Gt, ops.Sum(in[0], -1), -1e9)
		}}, z)
		y := layers.ApplyArguments(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}, layers.Arguments{Positional: []any{z, layers.Apply(&layers.Activation{Activation: "relu"}, z)}, Keywords: map[string]any{"query_mask": mask}})
		return y[0]
	}
	for name, row := range map[string]struct {
		embedding string
		before    layers.Layer
		attend    func(z *layers.KerasTensor) *layers.KerasTensor
		want      []float32
	}{
		"float32":                       {"float32", nil, attend("float32"), []float32{0, 0, 1, 0}},
		"of float32, for halves":        {"float32", nil, attend(half), []float32{1, 1, 1, 1}},
		"of halves, for float32":        {half, nil, attend("float32"), []float32{1, 1, 1, 1}},
		"halves":                        {half, nil, attend(half), []float32{0, 0, 1, 0}},
		"halves of two kinds":           {half, nil, attend("mixed_float16"), []float32{1, 1, 1, 1}},
		"in a model":                    {"float32", nil, nested("float32"), []float32{0, 0, 1, 0}},
		"in a model, cast":              {"float32", nil, nested(half), []float32{1, 1, 1, 1}},
		"in a model, cast by its input": {half, nil, nested(half), []float32{1, 1, 1, 1}},
		"after Identity":                {"float32", &layers.Identity{}, attend("float32"), []float32{0, 0, 1, 0}},
		"after Dropout":                 {"float32", &layers.Dropout{Rate: 0.5}, attend("float32"), []float32{0, 0, 1, 0}},
		"after linear":                  {"float32", &layers.Activation{Activation: "linear"}, attend("float32"), []float32{0, 0, 1, 0}},
		"after relu":                    {"float32", &layers.Activation{Activation: "relu"}, attend("float32"), []float32{1, 0, 1, 1}},
		"with a mask for the query":     {"float32", nil, given, []float32{0, 0, 1, 0}},
		"in a custom layer":             {"float32", nil, own, []float32{0, 0, 1, 0}},
	} {
		in := keras.Input(keras.Shape(3), keras.DType("int32"))
		look := func(x *layers.KerasTensor) *layers.KerasTensor {
			return layers.Apply(&layers.Lambda{Function: masked, DType: "float32"}, x)
		}
		x := layers.Apply(&layers.Embedding{InputDim: 5, OutputDim: 4, MaskZero: true, DType: row.embedding}, in)
		z := x
		if row.before != nil {
			z = layers.Apply(row.before, x)
		}
		y := row.attend(z)
		sum := layers.Apply(&layers.Add{}, x, y)
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Concatenate{}, look(x), look(z), look(y), look(sum))))
		require.NoError(t, err, name)
		got, err := m.PredictAll(t.Context(), data.Arrays([][]int32{{3, 2, 0}}, nil))
		if assert.NoError(t, err, name) {
			assert.Equal(t, row.want, got[0].Elements(), name)
		}
	}
}
