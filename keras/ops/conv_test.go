package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func conv(o ops.ConvOptions) opstest.Func {
	return binary(func(x, k *ops.Tensor) *ops.Tensor { return ops.Conv(x, k, o) })
}

func init() {
	n := opstest.Normal
	cases := []struct {
		name      string
		x, kernel []int
		o         ops.ConvOptions
	}{
		{"1d", []int{2, 5, 2}, []int{3, 2, 2}, ops.ConvOptions{}},
		{"1d strided dilated", []int{1, 9, 1}, []int{2, 1, 3}, ops.ConvOptions{Strides: []int{2}, Dilation: []int{3}, PadLow: []int{2}, PadHigh: []int{1}}},
		{"2d same", []int{1, 4, 3, 2}, []int{3, 2, 2, 1}, ops.ConvOptions{PadLow: []int{1, 0}, PadHigh: []int{1, 1}}},
		{"2d strided with a rest", []int{1, 6, 5, 1}, []int{2, 3, 1, 2}, ops.ConvOptions{Strides: []int{3, 2}}},
		{"2d groups", []int{1, 3, 3, 4}, []int{2, 2, 2, 4}, ops.ConvOptions{Groups: 2}},
		{"2d depthwise", []int{1, 3, 3, 2}, []int{2, 2, 1, 4}, ops.ConvOptions{Groups: 2}},
		{"2d pointwise", []int{1, 2, 2, 3}, []int{1, 1, 3, 2}, ops.ConvOptions{}},
		{"3d", []int{1, 3, 2, 3, 1}, []int{2, 2, 2, 1, 1}, ops.ConvOptions{}},
		{"no examples", []int{0, 3, 3, 1}, []int{2, 2, 1, 1}, ops.ConvOptions{}},
		{"no positions", []int{1, 1, 3, 1}, []int{2, 2, 1, 1}, ops.ConvOptions{}},
	}
	for i, c := range cases {
		addCase("conv "+c.name, true, conv(c.o), n(2*i, c.x...), n(2*i+1, c.kernel...))
	}
	addCase("conv transpose", true, binary(func(dy, k *ops.Tensor) *ops.Tensor {
		return ops.ConvTranspose(dy, k, ir.Shape{2, 6, 1}, ops.ConvOptions{Strides: []int{2}, PadLow: []int{1}})
	}), n(1, 2, 3, 2), n(2, 3, 1, 2))

	pools := []struct {
		name string
		x    []int
		o    ops.PoolOptions
	}{
		{"1d", []int{2, 5, 2}, ops.PoolOptions{Window: []int{2}}},
		{"2d overlapping", []int{1, 4, 5, 2}, ops.PoolOptions{Window: []int{3, 2}, Strides: []int{1, 2}}},
		{"2d same", []int{1, 5, 5, 1}, ops.PoolOptions{Window: []int{2, 3}, Strides: []int{2, 2}, PadLow: []int{0, 1}, PadHigh: []int{1, 1}}},
		{"3d", []int{1, 2, 3, 2, 1}, ops.PoolOptions{Window: []int{2, 2, 1}}},
		{"no examples", []int{0, 4, 4, 1}, ops.PoolOptions{Window: []int{2, 2}}},
		{"no positions", []int{1, 1, 4, 1}, ops.PoolOptions{Window: []int{2, 2}}},
	}
	for i, p := range pools {
		x := opstest.Distinct(i, 0.1, p.x...)
		addCase("max pool "+p.name, true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.MaxPool(x, p.o)) }), x)
		addCase("average pool "+p.name, true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.AveragePool(x, p.o)) }), x)
	}
}

func TestConvResults(t *testing.T) {
	x := opstest.Floats([]int{1, 4, 1}, 1, 2, 3, 4)
	kernel := opstest.Floats([]int{2, 1, 1}, 10, 1)
	y := opstest.Eval(t, conv(ops.ConvOptions{}), x, kernel)[0] // not flipped
	opstest.Near(t, "y", y, opstest.Floats([]int{1, 3, 1}, 12, 23, 34), 0, 0)
	y = opstest.Eval(t, conv(ops.ConvOptions{PadHigh: []int{1}, Strides: []int{3}}), x, kernel)[0]
	opstest.Near(t, "y", y, opstest.Floats([]int{1, 2, 1}, 12, 40), 0, 0)
	// Averages divide by the number of real cells.
	y = opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor {
		return ops.AveragePool(x, ops.PoolOptions{Window: []int{3}, PadHigh: []int{2}})
	}), x)[0]
	opstest.Near(t, "y", y, opstest.Floats([]int{1, 2, 1}, 2, 4), 0, 0)
}

func TestConvErrors(t *testing.T) {
	x, kernel := opstest.Normal(1, 1, 4, 2), opstest.Normal(1, 2, 3, 1)
	err := opstest.EvalError(conv(ops.ConvOptions{}), x, kernel)
	require.ErrorContains(t, err, "2 input channels")
	err = opstest.EvalError(conv(ops.ConvOptions{}), opstest.Normal(1, 4, 2), kernel)
	require.ErrorContains(t, err, "(batch, spatial..., channels)")
	err = opstest.EvalError(conv(ops.ConvOptions{}), opstest.Normal(1, 4), kernel)
	require.ErrorContains(t, err, "(batch, spatial..., channels)")
	err = opstest.EvalError(conv(ops.ConvOptions{Strides: []int{0}}), x, opstest.Normal(1, 2, 2, 1))
	require.ErrorContains(t, err, "must be positive")
	err = opstest.EvalError(unary(func(x *ops.Tensor) *ops.Tensor {
		return ops.MaxPool(x, ops.PoolOptions{Window: []int{2, 2}})
	}), x)
	require.ErrorContains(t, err, "one entry for each of the 1 spatial axes")
}
