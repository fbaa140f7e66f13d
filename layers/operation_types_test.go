package layers_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// typesOfKeras are functions of keras.ops with the types of their operands and results, as operation_types.py records
// them.
type typesOfKeras struct {
	Extra map[string][]any
	Rows  [][]any
}

// otherTypes are functions whose results differ in type on purpose.
var otherTypes = map[string]string{}

// TestOperationTypesLikeKeras compares the element types of the results of operations with Keras's, for operands of
// every type. What is refused for a type is no matter of this test.
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

// wholeOf makes integers of JSON's floats.
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
