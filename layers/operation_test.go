package layers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

func symbol(dtype ir.DType, shape ...int) *layers.KerasTensor {
	return layers.NewInput("x", dtype, shape...)
}

// TestOperationTypes checks the inferred shapes and types of operations, with an unknown batch size.
func TestOperationTypes(t *testing.T) {
	none := layers.Unknown
	x, n, b := symbol(ir.Float32, none, 5, 4), symbol(ir.Int32, none, 5), symbol(ir.Bool, none, 5)
	half := symbol(ir.Float16, none, 3)
	for _, row := range []struct {
		got  *layers.KerasTensor
		want string
	}{
		{x.Add(1.5), "(None, 5, 4) float32"},
		{x.Add(n.At(layers.Ellipsis, nil)), "(None, 5, 4) float32"},
		{n.Add(2), "(None, 5) int32"},
		{n.Multiply(0.5), "(None, 5) float32"},
		{n.Divide(2), "(None, 5) float32"},
		{b.Add(1), "(None, 5) int32"},
		{b.Multiply(0.5), "(None, 5) float32"},
		{half.Multiply(2.0).Add(1), "(None, 3) float16"},
		{layers.Op("subtract", 1.0, half), "(None, 3) float16"},
		{x.At(layers.Slice{}, -1), "(None, 4) float32"},
		{x.At(layers.Ellipsis, layers.Range(0, 2)), "(None, 5, 2) float32"},
		{x.At(0), "(5, 4) float32"},
		{x.At(layers.Slice{}, layers.Slice{Step: new(-2)}), "(None, 3, 4) float32"},
		{x.At(layers.Slice{}, layers.Slice{Start: new(10)}), "(None, 0, 4) float32"},
		{x.Reshape(-1, 20), "(None, 20) float32"},
		{x.Transpose(0, 2, 1), "(None, 4, 5) float32"},
		{x.Matmul(x.Transpose(0, 2, 1)), "(None, 5, 5) float32"},
		{layers.Op("mean", x, layers.Keywords{"axis": []int{1, 2}, "keepdims": true}), "(None, 1, 1) float32"},
		{layers.Op("concatenate", []*layers.KerasTensor{x, x}, 1), "(None, 10, 4) float32"},
		{layers.OpAll("split", x, 2, -1)[1], "(None, 5, 2) float32"},
		{layers.OpAll("top_k", x, 2)[1], "(None, 5, 2) int32"},
		{layers.Op("argmax", x, -1), "(None, 5) int32"},
		{layers.Op("where", x.Greater(0), x, 0.0), "(None, 5, 4) float32"},
		{layers.Op("one_hot", n, 7), "(None, 5, 7) float32"},
		{layers.Op("take", x, []int{2, 0}, layers.Keywords{"axis": 2}), "(None, 5, 2) float32"},
		{x.Cast("float64"), "(None, 5, 4) float64"},
		{layers.Op("einsum", "bij,bkj->bik", x, x), "(None, 5, 5) float32"},
		{layers.Op("broadcast_to", layers.Op("sum", x, 1, true), []any{nil, 6, 4}), "(None, 6, 4) float32"},
	} {
		require.NoError(t, row.got.Err())
		assert.Equal(t, row.want, row.got.String())
	}
}

func TestOperationErrors(t *testing.T) {
	x := symbol(ir.Float32, layers.Unknown, 3)
	for _, row := range []struct {
		got  *layers.KerasTensor
		want string
	}{
		{layers.Op("arange", 0, 4, 1), `"arange" makes numbers of no tensor`},
		{layers.Op("frobnicate", x), `there is no operation "frobnicate"; known: abs,`},
		{layers.Op("clip", x), `needs the argument "x_min"`},
		{layers.Op("add", x, x, x), "takes 2 arguments, received 1 more"},
		{layers.Op("mean", x, layers.Keywords{"axes": 1}), `has no argument "axes"; it is mean(x, axis=None, keepdims=False)`},
		{layers.Op("mean", x, struct{}{}), "received a struct {}"},
		{layers.Op("mean", x, "all"), `argument "axis" must be a number, received all`},
		{layers.Op("add", x, (*layers.KerasTensor)(nil)), "received a nil tensor"},
		{layers.Op("add", 1, 2), "has no symbolic tensor among its arguments"},
		{layers.Op("matmul", x, symbol(ir.Float32, 4, 3)), "matmul"},
		{x.At(0, 0, 0), "the index has 3 entries"},
		{x.At(layers.Slice{}, 3), "index 3 is outside axis 1"},
		{x.At(layers.Slice{}, layers.Slice{Step: new(0)}), "must not be 0"},
		{x.At("a"), "an index must be"},
		{layers.Op("cast", x, "complex64"), "complex64"},
		{layers.Op("where", x), "all three arguments"},
		{layers.Op("reshape", symbol(ir.Float32, 2, 3), []int{-1, 7}), "7"},
		{layers.Op("sum", layers.Failed(fmt.Errorf("earlier"))), "earlier"},
	} {
		assert.ErrorContains(t, row.got.Err(), row.want)
	}
	_, err := layers.NewOperation("Frobnicate", nil)
	assert.ErrorContains(t, err, `unknown operation "Frobnicate"`)
	_, err = layers.NewOperation("Mean", map[string]any{"axes": int64(1)})
	assert.ErrorContains(t, err, `unknown key "axes"`)
	assert.ErrorContains(t, layers.Apply(&layers.Operation{}, x).Err(), "make one with layers.Op")
}

// TestGetItem compares indexing with the elements that Python's rules pick.
func TestGetItem(t *testing.T) {
	for _, row := range []struct {
		key  []any
		want []float64
	}{
		{[]any{1}, []float64{4, 5, 6, 7}},
		{[]any{-1, 0}, []float64{8}},
		{[]any{layers.Slice{}, layers.Range(1, 3)}, []float64{1, 2, 5, 6, 9, 10}},
		{[]any{layers.Slice{}, layers.Range(-2, 100)}, []float64{2, 3, 6, 7, 10, 11}},
		{[]any{0, layers.Slice{Step: new(-1)}}, []float64{3, 2, 1, 0}},
		{[]any{0, layers.Slice{Start: new(2), Stop: new(-5), Step: new(-2)}}, []float64{2, 0}},
		{[]any{0, layers.Slice{Start: new(-1), Stop: new(0), Step: new(-2)}}, []float64{3, 1}},
		{[]any{0, layers.Slice{Start: new(1), Step: new(2)}}, []float64{1, 3}},
		{[]any{layers.Ellipsis, 2}, []float64{2, 6, 10}},
		{[]any{nil, 2, layers.Ellipsis}, []float64{8, 9, 10, 11}},
		{[]any{layers.Slice{}, kernelsArray(t, 3, 0)}, []float64{3, 0, 7, 4, 11, 8}},
	} {
		y := symbol(ir.Float32, 3, 4).At(row.key...)
		require.NoError(t, y.Err())
		assert.Equal(t, row.want, evaluateOperation(t, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), row.key)
	}
}

func kernelsArray(t *testing.T, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(ir.Int32, ir.Shape{len(values)}, values)
	require.NoError(t, err)
	return a
}

// evaluateOperation computes an operation on one tensor with the reference interpreter.
func evaluateOperation(t *testing.T, y *layers.KerasTensor, values ...float64) []float64 {
	t.Helper()
	node, _ := y.Node()
	r := distribute.NewReplica("test", 1, 1, 1)
	x := r.Graph().Input("x", node.Inputs[0].DType(), node.Inputs[0].Shape()...)
	out := node.Invoke(r.Inference(), func(*layers.KerasTensor) *ops.Tensor { return x })
	r.Graph().Program().AddOutput("y", ops.In(r.Graph(), out[0]))
	in, err := reference.New(x.DType(), x.Shape(), values...)
	require.NoError(t, err)
	results, err := (reference.Interpreter{Round: true}).Run(r.Graph().Program(), []reference.Value{in})
	require.NoError(t, err)
	got := make([]float64, results[0].Type.Shape.Size())
	for i := range got {
		got[i] = results[0].At(i)
	}
	return got
}

// TestOperationsTakeNoMaskOn checks that operations do not pass on masks, as in Keras, and that a mask passed by name
// is used.
func TestOperationsTakeNoMaskOn(t *testing.T) {
	r := distribute.NewReplica("test", 1, 2, 2)
	x := r.Graph().Input("x", ir.Float32, 2, 3, 4)
	mask := r.Graph().Input("mask", ir.Bool, 2, 3)
	sx, sm := symbol(ir.Float32, 2, 3, 4), symbol(ir.Bool, 2, 3)
	value := func(t *layers.KerasTensor) *ops.Tensor {
		if t == sm {
			return mask
		}
		return x.WithMask(mask)
	}
	for _, y := range []*layers.KerasTensor{sx.Add(1), layers.Op("relu", sx), sx.Transpose(0, 1, 2), sx.Reshape(2, 3, 4), sx.Cast("float32")} {
		node, _ := y.Node()
		assert.Nil(t, node.Invoke(r.Inference(), value)[0].Mask())
	}
	masked := layers.ApplyArguments(&layers.Activation{Activation: "relu"}, layers.Arguments{Positional: []any{sx}, Keywords: layers.Keywords{"mask": sm}})
	require.NoError(t, masked[0].Err())
	node, _ := masked[0].Node()
	assert.NotNil(t, node.Invoke(r.Inference(), func(t *layers.KerasTensor) *ops.Tensor { return value(t).WithMask(nil) })[0].Mask())
	assert.Equal(t, []layers.Operand{{Tensor: sx, Argument: "inputs"}}, node.Operands())
	assert.Equal(t, []*layers.KerasTensor{sx, sm}, node.Inputs)
	wrong := layers.ApplyArguments(&layers.Dense{Units: 1}, layers.Arguments{Positional: []any{sx}, Keywords: layers.Keywords{"weight": sm}})
	assert.ErrorContains(t, wrong[0].Err(), `takes no tensor "weight"`)
}

func TestOperationNames(t *testing.T) {
	assert.Greater(t, len(layers.OperationNames()), 200)
	for _, name := range layers.OperationNames() {
		signature, class, ok := layers.OperationSignature(name)
		assert.True(t, ok)
		assert.Contains(t, layers.OperationClasses(), class)
		assert.Contains(t, signature, name+"(")
	}
	_, _, ok := layers.OperationSignature("nonsense")
	assert.False(t, ok)
}

func ExampleOp() {
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 5, 4)
	mean := layers.Op("mean", x, layers.Keywords{"axis": 1})
	largest := layers.Op("max", x, 1)
	y := layers.Op("concatenate", []*layers.KerasTensor{mean, largest.Multiply(0.5)}, -1)
	fmt.Println(y, y.Err())
	// Output: (None, 8) float32 <nil>
}

func ExampleKerasTensor_At() {
	sequence := layers.NewInput("sequence", ir.Float32, layers.Unknown, 5, 4)
	fmt.Println(sequence.At(layers.Slice{}, -1))
	fmt.Println(sequence.At(layers.Ellipsis, layers.Range(0, 2)))
	// Output:
	// (None, 4) float32
	// (None, 5, 2) float32
}

func ExampleOperationSignature() {
	signature, class, _ := layers.OperationSignature("mean")
	fmt.Println(signature, class)
	// Output: mean(x, axis=None, keepdims=False) Mean
}

// TestOperationsAreInTheInventory checks that every operation is a function of keras.ops, and that all functions of the
// first tier that only need tensors are operations.
func TestOperationsAreInTheInventory(t *testing.T) {
	known := map[string]int{}
	for _, e := range ops.Inventory() {
		known[e.Name[strings.LastIndex(e.Name, ".")+1:]] = e.Tier
	}
	names := layers.OperationNames()
	for _, name := range names {
		assert.Contains(t, known, name)
	}
	// These create tensors from nothing, take functions, or need values that are known in Go.
	without := strings.Fields("arange cond custom_gradient empty eye fori_loop full identity logspace ones scan shape tri while_loop zeros")
	for name, tier := range known {
		if tier == 1 && !slices.Contains(without, name) {
			assert.Contains(t, names, name)
		}
	}
}

func ExampleApplyArguments() {
	queries := layers.NewInput("queries", ir.Float32, layers.Unknown, 3, 8)
	values := layers.NewInput("values", ir.Float32, layers.Unknown, 5, 8)
	mask := layers.NewInput("mask", ir.Bool, layers.Unknown, 5)
	attention := &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 4}
	y := layers.ApplyArguments(attention, layers.Arguments{Positional: []any{queries, values}, Keywords: layers.Keywords{"value_mask": mask}})
	fmt.Println(y[0], y[0].Err())
	// Output: (None, 3, 8) float32 <nil>
}

func ExampleNewOperation() {
	mean, err := layers.NewOperation("Mean", map[string]any{"axis": int64(-1)})
	fmt.Println(mean.Module(), mean.ClassName(), err)
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 4)
	fmt.Println(layers.Apply(mean, x))
	// Output:
	// keras.src.ops.numpy Mean <nil>
	// (None,) float32
}
