package layers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func arrayOf(d ir.DType, shape ...int) kernels.Array {
	return kernels.NewArray(ir.Type{DType: d, Shape: shape})
}

// TestArgumentsOfCalls checks calls with arguments that they do not accept: none is dropped without an error.
func TestArgumentsOfCalls(t *testing.T) {
	x := symbol(ir.Float32, layers.Unknown, 5, 6)
	attend := func() layers.Layer { return &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3} }
	for name, c := range map[string]struct {
		layer      layers.Layer
		positional []any
		keywords   layers.Keywords
		want       string
	}{
		"unknown literal":       {&layers.Dense{Units: 1}, []any{x}, layers.Keywords{"factor": 2.0}, `takes no argument "factor"`},
		"unknown constant":      {&layers.Dense{Units: 1}, []any{x}, layers.Keywords{"bias": arrayOf(ir.Float32, 1)}, `takes no tensor "bias"`},
		"too many":              {&layers.Softmax{}, []any{x, nil, x}, nil, "at most 2 arguments (inputs, mask), received 3"},
		"twice":                 {&layers.Softmax{}, []any{x}, layers.Keywords{"inputs": x}, `"inputs" is given by position and by name`},
		"two tensors":           {&layers.Dense{Units: 1}, []any{x, arrayOf(ir.Float32, 1, 5, 6)}, nil, "received 2"},
		"field of the layer":    {attend(), []any{x, x}, layers.Keywords{"use_causal_mask": true}, "use_causal_mask=true, which belongs to the layer"},
		"bool key":              {attend(), []any{x, x, arrayOf(ir.Bool, 1, 5, 6)}, nil, "its key is of type bool"},
		"bool state":            {&layers.GRU{Units: 6}, []any{x}, layers.Keywords{"initial_state": arrayOf(ir.Bool, 1, 6)}, "initial_state is of type bool"},
		"text":                  {&layers.Add{}, []any{[]any{x, "two"}}, nil, "expected a tensor, an array, or nested lists of numbers"},
		"an object":             {&layers.Flatten{}, []any{map[string]any{}}, nil, "received an object without a class_name; expected"},
		"a type without a form": {&layers.Add{}, []any{[]any{x, struct{}{}}}, nil, "received a struct {}"},
		"mask for nothing":      {&layers.Softmax{}, []any{x}, layers.Keywords{"key_mask": arrayOf(ir.Bool, 1, 5)}, `takes no tensor "key_mask"`},
		"rows of two lengths":   {&layers.Add{}, []any{[]any{x, []any{[]any{1.0}, []any{1.0, 2.0}}}}, nil, "rows of shapes"},
	} {
		y := layers.ApplyArguments(c.layer, layers.Arguments{Positional: c.positional, Keywords: c.keywords})
		require.ErrorContains(t, y[0].Err(), c.want, name)
	}
}

// TestConstantsOfABatch checks that a constant may have a row for each example: then the batch cannot have another
// length.
func TestConstantsOfABatch(t *testing.T) {
	x := symbol(ir.Float32, layers.Unknown, 5, 6)
	rows := arrayOf(ir.Float32, 4, 5, 6)
	y := layers.ApplyArguments(&layers.Add{}, layers.Arguments{Positional: []any{[]any{x, rows}}})[0]
	require.NoError(t, y.Err())
	assert.Equal(t, "(4, 5, 6) float32", y.String())
	z := layers.Op("add", x, rows)
	require.NoError(t, z.Err())
	assert.Equal(t, "(4, 5, 6) float32", z.String())
	wrong := layers.ApplyArguments(&layers.Add{}, layers.Arguments{Positional: []any{[]any{x, arrayOf(ir.Float32, 4, 5, 7)}}})[0]
	require.ErrorContains(t, wrong.Err(), "expected inputs")
}

func ExampleOperand() {
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 2)
	scale, _ := kernels.FromFloat64s(ir.Float32, ir.Shape{1, 2}, []float64{0.5, 2})
	y := layers.ApplyArguments(&layers.Multiply{}, layers.Arguments{Positional: []any{[]any{x, scale}}})
	node, _ := y[0].Node()
	for _, o := range node.Operands() {
		fmt.Println(o.Argument, o.Shape(), o.Tensor == nil)
	}
	// Output:
	// inputs [None 2] false
	// inputs [1 2] true
}
