package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// reversed calls a layer in reverse.
func reversed(l *layers.ReversibleEmbedding, policy string, x opstest.Array) (y *ops.Tensor, err error) {
	defer ops.Catch(&err)
	r := distribute.NewReplica("test", 1, 2, 2)
	c := r.Inference()
	if c.Policy, err = ops.ParseDTypePolicy(policy); err != nil {
		return nil, err
	}
	return l.Reverse(c, r.Graph().Input("x", x.DType, x.Shape...)), nil
}

// TestReverseIsATranspose: scores of looked-up vectors are products with rows of the table, limited by the cap; the
// mask is not passed on.
func TestReverseIsATranspose(t *testing.T) {
	table := []float64{1, 2, 0, -1, 3, 0.5}
	for _, limit := range []*float64{nil, new(2.0)} {
		l := &layers.ReversibleEmbedding{InputDim: 3, OutputDim: 2, MaskZero: true, LogitSoftCap: limit, EmbeddingsInitializer: fixed(table)}
		c := layerCall{layer: l, inputs: []opstest.Array{opstest.Ints([]int{1, 3}, 0, 2, 1)}}
		c.more = func(r *distribute.Replica, _, out []*ops.Tensor) []*ops.Tensor {
			require.NotNil(t, out[0].Mask())
			y := l.Reverse(r.Inference(), out[0])
			require.Nil(t, y.Mask())
			if limit != nil {
				y = ops.MultiplyScalar(ops.Arctanh(ops.DivideScalar(y, 2)), 2)
			}
			return []*ops.Tensor{y}
		}
		a := c.run(t)
		assert.Equal(t, []float64{1, 2, 3, 0.5, 0, -1}, a.outputs[0].F)
		assert.Equal(t, []float64{0, 1, 1}, a.mask.F)
		for i, want := range []float64{5, -2, 4, 4, -0.5, 9.25, -2, 1, -0.5} {
			if limit == nil || want < 8 { // too close to the cap to be undone
				assert.InDelta(t, want, a.more[0].F[i], 1e-3)
			}
		}
	}
}

// TestQuantizedLookupsAreMasked: a quantized table also gives its vectors the mask of the numbers, so that padding is
// excluded from means; Keras 3.15 loses the mask of a ReversibleEmbedding.
func TestQuantizedLookupsAreMasked(t *testing.T) {
	for _, mode := range []any{"int8", "int4", &quantizers.Int4QuantizationConfig{BlockSize: -1}} {
		for _, l := range []layers.Layer{&layers.Embedding{InputDim: 4, OutputDim: 3, MaskZero: true}, &layers.ReversibleEmbedding{InputDim: 4, OutputDim: 3, MaskZero: true}} {
			m, err := keras.NewSequential([]layers.Layer{l, &layers.GlobalAveragePooling1D{}}, keras.InputShape(layers.Unknown), keras.InputDType("int32"), keras.Seed(1))
			require.NoError(t, err)
			require.NoError(t, m.Quantize(mode))
			short, err := m.PredictOnBatch(t.Context(), data.Arrays([][]int32{{1, 3}}, nil))
			require.NoError(t, err)
			padded, err := m.PredictOnBatch(t.Context(), data.Arrays([][]int32{{1, 3, 0, 0}}, nil))
			require.NoError(t, err)
			assert.InDeltaSlice(t, short.Float64s(), padded.Float64s(), 1e-7)
		}
	}
}

// TestReverseDType: scores have the requested type, or those of Keras 3.15 with JAX: it casts neither vectors nor, in
// models with a mixed policy, the table, which stays in float32.
func TestReverseDType(t *testing.T) {
	for _, c := range []struct {
		model, layer, reverse string
		x, want               ir.DType
	}{
		{"mixed_bfloat16", "", "", ir.BFloat16, ir.Float32},
		{"mixed_bfloat16", "", "", ir.Float32, ir.Float32},
		{"mixed_float16", "", "", ir.Float16, ir.Float32},
		{"bfloat16", "", "", ir.BFloat16, ir.BFloat16},
		{"bfloat16", "", "", ir.Float32, ir.Float32},
		{"float64", "", "", ir.Float32, ir.Float64},
		{"float32", "mixed_bfloat16", "", ir.BFloat16, ir.BFloat16},
		{"float32", "mixed_bfloat16", "", ir.Float32, ir.Float32},
		{"float32", "mixed_float16", "", ir.BFloat16, ir.Float32},
		{"float32", "mixed_float16", "", ir.Float16, ir.Float16},
		{"mixed_bfloat16", "", "bfloat16", ir.Float32, ir.BFloat16},
		{"mixed_bfloat16", "", "float32", ir.BFloat16, ir.Float32},
		{"mixed_bfloat16", "", "float64", ir.BFloat16, ir.Float64},
	} {
		l := &layers.ReversibleEmbedding{InputDim: 3, OutputDim: 2, DType: c.layer, ReverseDType: c.reverse}
		y, err := reversed(l, c.model, opstest.Normal(1, 2, 2).As(c.x))
		require.NoError(t, err)
		assert.Equal(t, c.want, y.DType(), c)
		assert.Equal(t, []int{2, 3}, []int(y.Shape()))
	}
}

// TestReversibleEmbeddingErrors: errors name the field or input and what was received.
func TestReversibleEmbeddingErrors(t *testing.T) {
	ids := []opstest.Array{opstest.Ints([]int{2}, 0, 1)}
	for want, l := range map[string]*layers.ReversibleEmbedding{
		"InputDim and OutputDim must be positive, received 0 and 3":            {OutputDim: 3},
		"LogitSoftCap must be positive, received -1":                           {InputDim: 2, OutputDim: 3, LogitSoftCap: new(-1.0)},
		`ReverseDType must be a float type such as "float32", received "int8"`: {InputDim: 2, OutputDim: 3, ReverseDType: "int8"},
		`received "floaty"`: {InputDim: 2, OutputDim: 3, ReverseDType: "floaty"},
	} {
		_, err := layerCall{layer: l, inputs: ids}.try()
		assert.ErrorContains(t, err, want)
	}
	l := &layers.ReversibleEmbedding{InputDim: 4, OutputDim: 3}
	_, err := reversed(l, "float32", opstest.Normal(1, 2, 4))
	assert.ErrorContains(t, err, "reversible_embedding: in reverse it takes vectors of length OutputDim 3 on the last axis, received shape [2 4]")
	_, err = reversed(l, "float32", opstest.Ints([]int{1, 3}, 0, 1, 2))
	assert.ErrorContains(t, err, "in reverse it takes vectors of a float type")
	x := keras.Input(keras.Shape(3))
	for _, value := range []any{"yes", int64(1)} {
		y := layers.ApplyArguments(l, layers.Arguments{Positional: []any{x}, Keywords: layers.Keywords{"reverse": value}})
		assert.ErrorContains(t, y[0].Err(), `ReversibleEmbedding: call argument "reverse" must be a bool, received`)
	}
	assert.True(t, layers.IsCallArgument(l, "reverse"))
	assert.False(t, layers.IsCallArgument(l, "mask"))
	assert.False(t, layers.IsCallArgument(&layers.Embedding{}, "reverse"))
}

// TestWrongIndexNamesItsLayer: a number outside a table is reported under the path of the table's layer, also if
// several layers look it up, if one layer is called several times or in reverse, and inside other models.
func TestWrongIndexNamesItsLayer(t *testing.T) {
	ids := func(values ...int32) data.Array {
		return data.Must(data.ArrayOf(values, 2, 3))
	}
	good, bad := ids(0, 1, 2, 3, 4, 5), ids(0, 1, 2, 3, 4, 9)
	input := func() *layers.KerasTensor { return keras.Input(keras.Shape(3), keras.DType("int32")) }
	check := func(path string, inputs []*layers.KerasTensor, output *layers.KerasTensor, values ...any) {
		t.Helper()
		m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(output), keras.Name("m"))
		require.NoError(t, err)
		_, err = m.PredictAll(t.Context(), data.Arrays(values, nil))
		require.ErrorContains(t, err, "batch 0: "+path+": embedding: index 9 (element 5 of the indices) is outside axis 0 of length 6; valid indices are 0 to 5")
	}
	a, b := input(), input()
	shared := &layers.Embedding{Name: "shared", InputDim: 6, OutputDim: 2}
	check("m/shared", []*layers.KerasTensor{a, b}, layers.Apply(&layers.Add{}, layers.Apply(shared, a), layers.Apply(shared, b)), good, bad)
	a = input()
	large, small := &layers.Embedding{Name: "large", InputDim: 10, OutputDim: 2}, &layers.Embedding{Name: "small", InputDim: 6, OutputDim: 2}
	check("m/small", []*layers.KerasTensor{a}, layers.Apply(&layers.Add{}, layers.Apply(large, a), layers.Apply(small, a)), bad)
	a = input()
	table := &layers.ReversibleEmbedding{Name: "table", InputDim: 6, OutputDim: 2}
	check("m/table", []*layers.KerasTensor{a}, table.ApplyReverse(layers.Apply(&layers.Dense{Units: 2}, layers.Apply(table, a))), bad)
	a = input()
	inner, err := keras.NewSequential([]layers.Layer{&layers.Embedding{Name: "deep", InputDim: 6, OutputDim: 2}}, keras.InputShape(3), keras.InputDType("int32"), keras.Name("inner"))
	require.NoError(t, err)
	check("m/inner/deep", []*layers.KerasTensor{a}, layers.Apply(&layers.Dense{Units: 2}, layers.Apply(inner, a)), bad)
}

// fixed are the initial values of a weight.
type fixed []float64

func (f fixed) Initialize(into kernels.Array, _ uint64) error { return into.SetFloat64s(0, f) }
