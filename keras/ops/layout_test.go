package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A layout does not change any number; gradients pass through it and have the same layout, and so do theirs.
func TestWithLayout(t *testing.T) {
	f := func(x *ops.Tensor) *ops.Tensor {
		return ops.Sin(ops.WithLayout(ops.Square(x), []int{2}, []int{0, -1}))
	}
	opstest.CheckGradients(t, func(_ *ops.Graph, in tensors) tensors { return tensors{f(in[0])} }, opstest.Normal(1, 4, 3))
	opstest.CheckSecondGradients(t, func(_ *ops.Graph, in tensors) tensors { return tensors{f(in[0])} }, opstest.Normal(2, 4, 3))
	p, err := opstest.Trace(func(_ *ops.Graph, in tensors) tensors { return ops.Grad(ops.Sum(f(in[0])), in[0]) }, ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3}})
	require.NoError(t, err)
	layouts := 0
	for _, n := range p.Nodes {
		if a, ok := n.Attrs.(ir.LayoutAttrs); ok {
			require.Equal(t, ir.LayoutAttrs{Mesh: []int{2}, Axes: []int{0, -1}}, a)
			layouts++
		}
	}
	require.Equal(t, 2, layouts)
	_, err = opstest.Trace(func(_ *ops.Graph, in tensors) tensors { return tensors{ops.WithLayout(in[0], []int{2}, []int{0})} }, ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3}})
	require.ErrorContains(t, err, "a layout of 1 axes, [0]")
	_, err = opstest.Trace(func(_ *ops.Graph, in tensors) tensors { return tensors{ops.WithLayout(in[0], []int{2}, []int{0, 0})} }, ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3}})
	require.ErrorContains(t, err, "each axis of a mesh of shape [2] can divide one axis")
}
