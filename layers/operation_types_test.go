package layers_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// typesOfKeras are functions of keras.ops with the types of their operands and results, as operation_types.py records
// them.
type typesOfKeras struct {
	Extra map[string][]any
	Rows  [][]any
}

// otherTypes are functions whose result types differ on purpose.
var otherTypes = map[string]string{}

// TestOperationTypesLikeKeras compares the element types of the results of operations with Keras's, for operands of
// every type. It ignores types that operations reject.
func TestOperationTypesLikeKeras(t *testing.T) {
	recorded := recorded.JSON[typesOfKeras](t, "testdata/operation_types.json.gz")
	compared, functions := 0, map[string]bool{}
	for _, row := range recorded.Rows {
		name := row[0].(string)
		if _, _, known := layers.OperationSignature(name); !known || otherTypes[name] != "" {
			continue
		}
		var operands []any
		var symbols []*layers.KerasTensor
		for _, d := range row[1].([]any) {
			dtype, err := ir.ParseDType(d.(string))
			require.NoError(t, err)
			symbols = append(symbols, symbol(dtype, 3, 3))
			operands = append(operands, symbols[len(symbols)-1])
		}
		if name == "concatenate" || name == "stack" || name == "hstack" || name == "vstack" || name == "dstack" {
			operands = []any{symbols}
		}
		for _, e := range recorded.Extra[name] {
			operands = append(operands, wholeOf(e))
		}
		results := layers.OpAll(name, operands...)
		if results[0].Err() != nil {
			continue
		}
		compared++
		functions[name] = true
		var got, want []string
		for i, d := range row[2].([]any) {
			want = append(want, d.(string))
			if i < len(results) {
				got = append(got, results[i].DTypeName())
			}
		}
		if !slices.Equal(want, got) {
			t.Errorf("%s of %v is %v, want %v", name, row[1], got, want)
		}
	}
	assert.Greater(t, compared, 2000)
	assert.Greater(t, len(functions), 150)
}

// wholeOf converts JSON's floats to integers.
func wholeOf(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = wholeOf(e)
		}
		return out
	}
	return v
}

// The element types of Keras 3.15.1 with JAX and with torch.
func TestTypesOfProductsOfBytes(t *testing.T) {
	a, b, c := symbol(ir.Int8, 3, 3), symbol(ir.Bool, 3, 3), symbol(ir.Int16, 3, 3)
	for i, want := range []ir.DType{ir.Int32, ir.Int8, ir.Int16, ir.Bool, ir.Int16} {
		x, y := []*layers.KerasTensor{a, a, c, b, c}[i], []*layers.KerasTensor{a, b, b, b, c}[i]
		assert.Equal(t, want, layers.Op("matmul", x, y).DType(), "matmul %d", i)
		assert.Equal(t, want, layers.Op("einsum", "ij,jk->ik", x, y).DType(), "einsum %d", i)
	}
	assert.Equal(t, ir.Int8, layers.Op("dot", a, a).DType())
	assert.Equal(t, ir.Bool, layers.Op("max", b, layers.Keywords{"initial": 1}).DType())
}

// Numbers beyond the range of the type that they are combined with. The expected numbers are those of Keras 3.15.1, on
// which its backends agree, except for comparisons, where they are TensorFlow's and NumPy's (x > -1 is true for every
// uint8), and for clip, on which the backends disagree.
func TestNumbersBeyondTheTypeTheyMeet(t *testing.T) {
	unsigned, signed := data.Must(data.ArrayOf([]uint8{0, 3}, 1, 2)), data.Must(data.ArrayOf([]int8{0, 3}, 1, 2))
	wide := data.Must(data.ArrayOf([]int64{0, 3}, 1, 2))
	pad := []any{[]any{0, 0}, []any{1, 0}}
	for _, c := range []struct {
		x    data.Array
		name string
		args func(x *layers.KerasTensor) []any
		want []float64
	}{
		{unsigned, "add", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{255, 2}},
		{unsigned, "subtract", func(x *layers.KerasTensor) []any { return []any{-1, x} }, []float64{255, 252}},
		{signed, "add", func(x *layers.KerasTensor) []any { return []any{x, 200} }, []float64{-56, -53}},
		{signed, "multiply", func(x *layers.KerasTensor) []any { return []any{x, 300} }, []float64{0, -124}},
		{signed, "subtract", func(x *layers.KerasTensor) []any { return []any{300, x} }, []float64{44, 41}},
		{unsigned, "maximum", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{255, 255}},
		{signed, "minimum", func(x *layers.KerasTensor) []any { return []any{x, 200} }, []float64{-56, -56}},
		{unsigned, "fmax", func(x *layers.KerasTensor) []any { return []any{-1, x} }, []float64{255, 255}},
		{unsigned, "where", func(x *layers.KerasTensor) []any { return []any{x, x, -1} }, []float64{255, 3}},
		{signed, "where", func(x *layers.KerasTensor) []any { return []any{x, x, 300} }, []float64{44, 3}},
		{unsigned, "full_like", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{255, 255}},
		{unsigned, "pad", func(x *layers.KerasTensor) []any { return []any{x, pad, "constant", -1} }, []float64{255, 0, 3}},
		{signed, "pad", func(x *layers.KerasTensor) []any { return []any{x, pad, "constant", 300} }, []float64{44, 0, 3}},
		{signed, "floor_divide", func(x *layers.KerasTensor) []any { return []any{x, 200} }, []float64{0, -1}},
		{unsigned, "bitwise_and", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{0, 3}},
		{unsigned, "true_divide", func(x *layers.KerasTensor) []any { return []any{x, -2} }, []float64{0, -1.5}},
		{signed, "true_divide", func(x *layers.KerasTensor) []any { return []any{x, 200} }, []float64{0, 0.015}},
		{unsigned, "divide_no_nan", func(x *layers.KerasTensor) []any { return []any{x, -2} }, []float64{0, -1.5}},
		{unsigned, "hypot", func(x *layers.KerasTensor) []any { return []any{x, -2} }, []float64{2, 3.6055512}},
		{signed, "hypot", func(x *layers.KerasTensor) []any { return []any{x, 200} }, []float64{200, 200.022476}},
		{unsigned, "heaviside", func(x *layers.KerasTensor) []any { return []any{x, -2} }, []float64{-2, 1}},
		{unsigned, "nextafter", func(x *layers.KerasTensor) []any { return []any{x, -2} }, []float64{-1.4012985e-45, 2.9999998}},
		{unsigned, "isclose", func(x *layers.KerasTensor) []any { return []any{x, -2} }, []float64{0, 0}},
		{unsigned, "isin", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{0, 0}},
		{unsigned, "greater", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{1, 1}},
		{unsigned, "less", func(x *layers.KerasTensor) []any { return []any{-1, x} }, []float64{1, 1}},
		{unsigned, "equal", func(x *layers.KerasTensor) []any { return []any{x, -1} }, []float64{0, 0}},
		{unsigned, "equal", func(x *layers.KerasTensor) []any { return []any{x, 259} }, []float64{0, 0}},
		{unsigned, "less_equal", func(x *layers.KerasTensor) []any { return []any{x, int64(1) << 40} }, []float64{1, 1}},
		{unsigned, "clip", func(x *layers.KerasTensor) []any { return []any{x, -1, 2} }, []float64{0, 2}},
		{unsigned, "clip", func(x *layers.KerasTensor) []any { return []any{x, 1, 300} }, []float64{1, 3}},
		{wide, "mod", func(x *layers.KerasTensor) []any { return []any{int64(1)<<53 + 1, x.Add(2)} }, []float64{1, 3}},
		{wide, "mod", func(x *layers.KerasTensor) []any {
			return []any{data.Must(data.ArrayOf([]int64{1<<53 + 1, -1<<53 - 3}, 1, 2)), x.Add(7)}
		}, []float64{5, 5}},
	} {
		x := layers.NewInput("x", c.x.Type.DType, layers.Unknown, 2)
		args := c.args(x)
		m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Op(c.name, args...)))
		require.NoError(t, err, c.name)
		y, err := m.Predict(context.Background(), data.Arrays(c.x, nil))
		require.NoError(t, err, c.name)
		assert.InDeltaSlice(t, c.want, y.Float64s(), 1e-4, "%s of %v: %v", c.name, c.x.Type, args)
	}
}
