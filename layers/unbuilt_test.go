package layers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// within is a layer that computes a given function.
type within struct {
	layers.Base
	f func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor
}

func (w *within) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor { return w.f(c, in) }

// TestUnbuilt: any use of something that is not built is an error that says so; cells without variables need not be
// built.
func TestUnbuilt(t *testing.T) {
	failure := func(f func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor) error {
		x, state := layers.NewInput("x", ir.Float32, 2, 3), layers.NewInput("state", ir.Float32, 2, 4)
		return layers.Apply(&within{f: f}, x, state, state).Err()
	}
	list := func(cells ...layers.RNNCell) *layers.StackedRNNCells { return &layers.StackedRNNCells{Cells: cells} }
	for i, cell := range []layers.RNNCell{
		&layers.GRUCell{Units: 4}, &layers.LSTMCell{Units: 4}, &layers.SimpleRNNCell{Units: 4}, list(), list(nil), list(&layers.GRUCell{Units: 4}),
	} {
		name := fmt.Sprintf("%d: %T", i, cell)
		states := len(cell.StateSizes())
		require.ErrorContains(t, failure(func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
			return layers.ForwardCell(c, cell, in[:1+states])
		}), "the cell "+layers.ClassName(cell)+" is not built; call BuildMember", name)
		require.ErrorContains(t, failure(func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
			return cell.Forward(c, in[:1+states])
		}), "is not built", name)
		require.Error(t, failure(func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
			cell.Start(c, 2)
			return in
		}), name)
		require.NotPanics(t, func() { cell.OutputSize() }, name)
	}
	require.ErrorContains(t, failure(func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
		c.Weight(nil)
		return in
	}), "a variable is nil")
	require.ErrorContains(t, failure(func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
		c.Assign(nil, in[0])
		return in
	}), "a variable is nil")
	require.NoError(t, failure(func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
		return layers.ForwardCell(c, &largest{}, []*ops.Tensor{in[0], ops.SliceAxis(in[1], 1, 0, 1)})
	}))
}

// TestNoResults: an operation without results cannot be part of a model.
func TestNoResults(t *testing.T) {
	x := layers.NewInput("x", ir.Float32, 2, 0, 3)
	for _, y := range []*layers.KerasTensor{layers.Op("unstack", x, layers.Keywords{"axis": 1}), layers.OpAll("unstack", x, layers.Keywords{"axis": 1})[0]} {
		require.ErrorContains(t, y.Err(), "unstack gives no results for a tensor of shape [2 0 3]; in a model an operation must give at least one")
	}
}
