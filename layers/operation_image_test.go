package layers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

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
