package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// Sums of products beyond a type's range wrap around. The expected numbers are those of Keras 3.15 on JAX, and on torch
// where it supports them.
func TestConvolutionsOfWholeNumbersWrapAround(t *testing.T) {
	for _, c := range []struct {
		function string
		dtype    ir.DType
		value    float64
		kernel   []int
		want     float64
	}{
		{"conv", ir.Int8, 100, []int{2, 2, 2, 1}, -32},
		{"conv", ir.Uint8, 200, []int{2, 2, 2, 1}, 192},
		{"conv", ir.Int16, 30000, []int{2, 2, 2, 1}, -23936},
		{"conv", ir.Int32, 1<<30 + 12345, []int{2, 2, 2, 1}, 691320},
		{"conv", ir.Int32, -(1<<30 + 12345), []int{2, 2, 2, 1}, -691320},
		{"depthwise_conv", ir.Int8, 100, []int{2, 2, 2, 1}, -16},
		{"depthwise_conv", ir.Uint8, 200, []int{2, 2, 2, 1}, 224},
		{"depthwise_conv", ir.Int16, 30000, []int{2, 2, 2, 1}, -11968},
		{"depthwise_conv", ir.Int32, 1<<30 + 12345, []int{2, 2, 2, 1}, 345660},
		{"conv_transpose", ir.Int8, 100, []int{2, 2, 1, 2}, 120},
		{"conv_transpose", ir.Int32, 1<<30 + 12345, []int{2, 2, 1, 2}, -2147310818},
	} {
		t.Run(c.function+" "+c.dtype.String(), func(t *testing.T) {
			g := ops.NewGraph(c.function)
			x := g.Input("x", c.dtype, 1, 3, 3, 2)
			args := []any{x, ops.Full(g, c.dtype, 7, c.kernel...)}
			if c.function == "conv_transpose" {
				args = append(args, layers.Keywords{"strides": int64(2)})
			}
			y := layers.Compute(g, c.function, args...)[0]
			require.Equal(t, c.dtype, y.DType())
			g.Program().AddOutput("y", ops.In(g, y))
			in := make([]float64, 18)
			for i := range in {
				in[i] = c.value
			}
			v, err := reference.New(c.dtype, []int{1, 3, 3, 2}, in...)
			require.NoError(t, err)
			out, err := (reference.Interpreter{Round: true}).Run(g.Program(), []reference.Value{v})
			require.NoError(t, err)
			assert.Equal(t, c.want, out[0].At(0))
		})
	}
}

// Products of int64 do not fit into the 53 bits of a float64: (2⁴⁰+3)·(2²⁰+5) is 2⁶⁰ + 5·2⁴⁰ + 3·2²⁰ + 15; with 2⁴⁴
// instead of 2²⁰ the first term overflows.
func TestConvolutionsOfInt64AreExact(t *testing.T) {
	for _, c := range []struct{ x, kernel, want int64 }{
		{1<<40 + 3, 1<<20 + 5, 1<<60 + 5<<40 + 3<<20 + 15},
		{1<<40 + 3, 1<<44 + 5, 5<<40 + 3<<44 + 15},
		{-(1<<40 + 3), 1<<44 + 5, -(5<<40 + 3<<44 + 15)},
	} {
		g := ops.NewGraph("conv")
		whole := func(v int64) *ops.Tensor { // in two steps, as constants are float64
			high := ops.Full(g, ir.Int64, float64(v>>32), 1, 1, 1, 1)
			low := ops.Full(g, ir.Int64, float64(v&(1<<32-1)), 1, 1, 1, 1)
			return ops.Add(ops.LeftShift(high, ops.Scalar(high, 32)), low)
		}
		y := layers.Compute(g, "conv", whole(c.x), whole(c.kernel))[0]
		g.Program().AddOutput("same", ops.In(g, ops.Equal(y, whole(c.want))))
		out, err := (reference.Interpreter{}).Run(g.Program(), nil)
		require.NoError(t, err)
		assert.Equal(t, 1.0, out[0].At(0), c)
	}
}
