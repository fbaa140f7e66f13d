package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers"
)

// Keras 3.15.1's shapes for layers on unknown axes, whatever the windows and strides.
func TestOpenAxesAsInKeras(t *testing.T) {
	none := layers.Unknown
	x := func() *layers.KerasTensor { return layers.NewInput("x", ir.Float32, none, none, 8) }
	halved := x()
	for range 6 {
		halved = layers.Apply(&layers.MaxPooling1D{PoolSize: []int{2}}, halved)
	}
	for i, row := range []struct {
		got  *layers.KerasTensor
		want string
	}{
		{layers.Apply(&layers.AveragePooling1D{PoolSize: []int{64}}, x()), "(None, None, 8)"},
		{layers.Apply(&layers.MaxPooling1D{PoolSize: []int{100}}, x()), "(None, None, 8)"},
		{layers.Apply(&layers.Conv1D{Filters: 4, KernelSize: []int{3}, Strides: []int{100}}, x()), "(None, None, 4)"},
		{layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{1}, Strides: []int{2}, DataFormat: layers.ChannelsFirst}, layers.NewInput("x", ir.Float32, none, 8, 5, 5)), "(None, 4, 3, 3)"},
		{layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{1}, DataFormat: layers.ChannelsFirst}, layers.NewInput("x", ir.Float32, none, 8, none, 5)), "(None, 4, None, 5)"},
		{layers.Apply(&layers.Add{}, layers.Apply(&layers.AveragePooling1D{PoolSize: []int{64}}, x()), halved), "(None, None, 8)"},
		{layers.Apply(&layers.Add{}, x(), layers.Apply(&layers.AveragePooling1D{PoolSize: []int{2}}, x())), "(None, None, 8)"},
		{layers.Apply(&layers.Concatenate{}, x(), halved), "(None, None, 16)"},
		{layers.Apply(&layers.Flatten{}, x()), "(None, None)"},
		{layers.Apply(&layers.Reshape{TargetShape: []int{-1, 4}}, x()), "(None, None, 4)"},
		{layers.Apply(&layers.Reshape{TargetShape: []int{4}}, x()), "(None, 4)"},
		{layers.Op("matmul", layers.NewInput("x", ir.Float32, none, 3), layers.NewInput("y", ir.Float32, none, 3)), "(None, 3)"},
		{layers.Op("reshape", layers.NewInput("x", ir.Float32, none, 3), []int{-1, 7}), "(None, 7)"},
		{layers.Apply(&layers.Dense{Units: 3}, layers.NewInput("x", ir.Float32, none, 7919, 7919)), "(None, 7919, 3)"},
	} {
		require.NoError(t, row.got.Err(), "row %d", i)
		assert.Equal(t, row.want, layers.ShapeString(row.got.Shape()), "row %d", i)
	}
	for _, l := range []layers.Layer{&layers.Dense{Units: 3}, &layers.LayerNormalization{}} {
		y := layers.Apply(l, layers.Apply(&layers.Flatten{}, halved))
		require.ErrorContains(t, y.Err(), "follows an open axis")
		require.ErrorContains(t, y.Err(), "None")
	}
	require.ErrorContains(t, layers.Apply(&layers.Dot{Axes: []int{1}}, x(), layers.NewInput("y", ir.Float32, none, 5, 8)).Err(), "equal lengths")
}

// counter is a layer that needs a number where an axis may be unknown.
type counter struct {
	layers.Base
	count func(c *layers.Context, x *ops.Tensor) *ops.Tensor
}

func (l *counter) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{l.count(c, in[0])}
}

// Code that uses an unknown length as a number fails with an error that names the layer; it does not give a wrong shape
// or hang.
func TestOpenLengthsAreNoNumbers(t *testing.T) {
	for i, count := range []func(c *layers.Context, x *ops.Tensor) *ops.Tensor{
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor { return ops.Reshape(x, x.Dim(0), x.Dim(1)*8) },
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor { return ops.SliceAxis(x, 1, 0, x.Dim(1)-1) },
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor { return ops.SliceAxis(x, 1, 0, x.Dim(1)/2) },
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor { return ops.Zeros(x, ir.Float32, x.Dim(1)+x.Dim(0)) },
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor {
			return ops.Constant(x, ir.Float32, ir.Shape{x.Dim(1)}, make([]float64, x.Dim(1)))
		},
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor {
			var table []float64
			for i := range x.Dim(1) {
				table = append(table, float64(i))
			}
			return ops.Constant(x, ir.Float32, ir.Shape{x.Dim(1)}, table)
		},
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor {
			var steps []*ops.Tensor
			for i := range x.Dim(1) {
				steps = append(steps, ops.Index(x, 1, i))
			}
			return ops.Stack(1, steps...)
		},
		func(_ *layers.Context, x *ops.Tensor) *ops.Tensor { return ops.Unstack(x, 1)[0] },
	} {
		y := layers.Apply(&counter{count: count}, layers.NewInput("x", ir.Float32, layers.Unknown, layers.Unknown, 8))
		require.Error(t, y.Err(), "row %d", i)
		require.Equal(t, dim.Readable(y.Err().Error()), y.Err().Error(), "row %d: no handle shows", i)
	}
}
