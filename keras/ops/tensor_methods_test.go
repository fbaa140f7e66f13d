package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestTensorMethods: methods are the functions of their names, with tensors and with numbers.
func TestTensorMethods(t *testing.T) {
	type method = func(x *ops.Tensor, y any) *ops.Tensor
	type function = func(x, y *ops.Tensor) *ops.Tensor
	pairs := map[string]struct {
		method   method
		function function
	}{
		"add":           {(*ops.Tensor).Add, ops.Add},
		"subtract":      {(*ops.Tensor).Subtract, ops.Subtract},
		"multiply":      {(*ops.Tensor).Multiply, ops.Multiply},
		"divide":        {(*ops.Tensor).Divide, ops.Divide},
		"floor divide":  {(*ops.Tensor).FloorDivide, ops.FloorDivide},
		"mod":           {(*ops.Tensor).Mod, ops.Mod},
		"power":         {(*ops.Tensor).Power, ops.Power},
		"equal":         {(*ops.Tensor).Equal, ops.Equal},
		"not equal":     {(*ops.Tensor).NotEqual, ops.NotEqual},
		"less":          {(*ops.Tensor).Less, ops.Less},
		"less equal":    {(*ops.Tensor).LessEqual, ops.LessEqual},
		"greater":       {(*ops.Tensor).Greater, ops.Greater},
		"greater equal": {(*ops.Tensor).GreaterEqual, ops.GreaterEqual},
	}
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			x, y := opstest.Floats([]int{2, 2}, 1, 2, 3, 7.5), opstest.Floats([]int{2}, 2, 3)
			out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				two := ops.Scalar(in[0], 2)
				return []*ops.Tensor{
					p.method(in[0], in[1]), p.function(in[0], in[1]),
					p.method(in[0], 2), p.method(in[0], 2.0), p.method(in[0], float32(2)), p.method(in[0], uint8(2)), p.function(in[0], two),
				}
			}, x, y)
			assert.Equal(t, out[1], out[0])
			for _, other := range out[2:6] {
				assert.Equal(t, out[6], other)
			}
		})
	}
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		x := in[0]
		return []*ops.Tensor{
			x.Matmul(x), ops.Matmul(x, x), x.Negative(), ops.Negative(x), x.Abs(), ops.Abs(x), x.Reshape(4, -1), ops.Reshape(x, 4, 1),
			x.Transpose(), ops.Transpose(x), x.Transpose(0, 1), x, x.Cast("int32"), ops.Cast(x, ir.Int32),
		}
	}, opstest.Floats([]int{2, 2}, 1, -2, 3, 7.5))
	for i := 0; i < len(out); i += 2 {
		assert.Equal(t, out[i+1], out[i], "pair %d", i/2)
	}
}

// TestTensorMethodsOfIntegers: numbers are converted as Python's are.
func TestTensorMethodsOfIntegers(t *testing.T) {
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		x, small, truth := in[0], ops.Cast(in[0], ir.Uint8), in[1]
		return []*ops.Tensor{
			x.Add(1), x.Add(0.5), x.Divide(2), x.Power(2), x.Less(2.5), x.Add(true),
			small.Add(-1), small.Less(300), small.Greater(-1), truth.Multiply(3), truth.Multiply(0.5),
			small.Less(1 << 40), x.Negative().Add(1), ops.NumberBeside(x, 6).Divide(x),
		}
	}, opstest.Ints([]int{3}, 1, 2, 3), opstest.Bools([]int{2}, 1, 0))
	want := []opstest.Array{
		{DType: ir.Int32, F: []float64{2, 3, 4}}, {DType: ir.Float32, F: []float64{1.5, 2.5, 3.5}},
		{DType: ir.Float32, F: []float64{0.5, 1, 1.5}}, {DType: ir.Int32, F: []float64{1, 4, 9}},
		{DType: ir.Bool, F: []float64{1, 1, 0}}, {DType: ir.Int32, F: []float64{2, 3, 4}},
		{DType: ir.Uint8, F: []float64{0, 1, 2}}, {DType: ir.Bool, F: []float64{1, 1, 1}}, {DType: ir.Bool, F: []float64{1, 1, 1}},
		{DType: ir.Int32, F: []float64{3, 0}}, {DType: ir.Float32, F: []float64{0.5, 0}},
		{DType: ir.Bool, F: []float64{1, 1, 1}}, {DType: ir.Int32, F: []float64{0, -1, -2}}, {DType: ir.Float32, F: []float64{6, 3, 2}},
	}
	for i, w := range want {
		assert.Equal(t, w.DType, out[i].DType, "result %d", i)
		assert.Equal(t, w.F, out[i].F, "result %d", i)
	}
}

// TestTensorMethodsMasks: arithmetic with a number keeps the mask, as AddScalar does.
func TestTensorMethodsMasks(t *testing.T) {
	g := ops.NewGraph("masks")
	x, mask := g.Input("x", ir.Float32, 2, 3), g.Input("mask", ir.Bool, 2, 3)
	x = x.WithMask(mask)
	assert.Same(t, mask, x.Multiply(2).Mask())
	assert.Nil(t, x.Multiply(x).Mask())
	assert.Nil(t, x.Less(2).Mask())
}

// TestTensorMethodsErrors: a mistake is an error of the trace.
func TestTensorMethodsErrors(t *testing.T) {
	var none *ops.Tensor
	for _, c := range []struct {
		want string
		f    func(x *ops.Tensor) *ops.Tensor
	}{
		{"received a string as an operand; expected a *ops.Tensor or a number", func(x *ops.Tensor) *ops.Tensor { return x.Add("1") }},
		{"received a []float64 as an operand", func(x *ops.Tensor) *ops.Tensor { return x.Less([]float64{1}) }},
		{"received a <nil> as an operand", func(x *ops.Tensor) *ops.Tensor { return x.Divide(nil) }},
		{"an operand is nil", func(x *ops.Tensor) *ops.Tensor { return x.Add(none) }},
		{"an operand is nil", func(x *ops.Tensor) *ops.Tensor { return none.Add(1) }},
		{"an operand is nil", func(x *ops.Tensor) *ops.Tensor { return none.Less(x) }},
		{"an operand is nil", func(x *ops.Tensor) *ops.Tensor { return none.Matmul(x) }},
		{"an operand is nil", func(*ops.Tensor) *ops.Tensor { return none.Cast("float32") }},
		{"do not broadcast", func(x *ops.Tensor) *ops.Tensor { return x.Add(ops.Zeros(x, ir.Float64, 5)) }},
		{"float31", func(x *ops.Tensor) *ops.Tensor { return x.Cast("float31") }},
	} {
		err := opstest.EvalError(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{c.f(in[0])} }, opstest.Floats([]int{2}, 1, 2))
		require.ErrorContains(t, err, c.want)
	}
}

func ExampleTensor_Add() {
	g := ops.NewGraph("contrastive")
	same, distance := g.Input("same", ir.Float64, 3), g.Input("distance", ir.Float64, 3)
	margin := ops.MaximumScalar(distance.Negative().Add(1), 0)                                     // max(1 - distance, 0)
	loss := same.Multiply(distance.Power(2)).Add(same.Negative().Add(1).Multiply(margin.Power(2))) // same: 1, else 0
	near := ops.Cast(distance.Less(0.5), ir.Float64)
	print(g, []*ops.Tensor{loss, near}, value(ir.Shape{3}, 1, 0, 0), value(ir.Shape{3}, 0.2, 0.3, 2))
	// Output:
	// [0.04 0.49 0]
	// [1 1 0]
}
