package layers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestDataFormatOfOperations: functions of keras.ops that convolve and pool give their operations the data format of
// the configuration in place of None, and Keras 3.15 reads AveragePool with null in a file as of channels first.
// Operations of images keep None, and replace it themselves.
func TestDataFormatOfOperations(t *testing.T) {
	x := NewInput("x", ir.Float32, Unknown, 8, 9, 3)
	for _, c := range []struct {
		y    *KerasTensor
		want any
	}{
		{Op("average_pool", x, 3), "channels_last"},
		{Op("max_pool", x, 2, nil, "valid", nil), "channels_last"},
		{Op("adaptive_max_pool", x, 2), "channels_last"},
		{Op("average_pool", x, 3, Keywords{"data_format": "channels_first"}), "channels_first"},
		{Op("gaussian_blur", x), nil},
	} {
		node, _ := c.y.Node()
		o, ok := node.Layer.(*Operation)
		require.True(t, ok, c.y)
		require.Equal(t, c.want, o.Settings()["data_format"], o.ClassName())
	}
}

// TestBlocksWithChannelsInFront moves blocks between channels and space in channels-first images, and compares with
// moving the channels to the end, the blocks, and the channels back.
func TestBlocksWithChannelsInFront(t *testing.T) {
	for _, block := range []int{1, 2, 3} {
		for _, c := range []struct {
			last, first func(x *ops.Tensor, block int) *ops.Tensor
			shape       []int
		}{
			{ops.DepthToSpace, depthToSpaceFirst, []int{2, 5 * block * block, 3, 4}},
			{ops.SpaceToDepth, spaceToDepthFirst, []int{2, 5, 3 * block, 4 * block}},
		} {
			got := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{c.first(in[0], block), fromLast(c.last(toLast(in[0], true), block), true)}
			}, opstest.Normal(block, c.shape...))
			require.Equal(t, got[1], got[0], fmt.Sprint(block, c.shape))
		}
	}
}
