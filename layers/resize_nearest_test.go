package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
)

// Cell i of the nearest ones is cell floor((i + ½)·old/new), for multiples and fractions of the old length, and others,
// with channels first and last.
func TestResizeNearest(t *testing.T) {
	for old := 1; old < 9; old++ {
		for length := 1; length < 17; length++ {
			x := opstest.Normal(old, 1, old, old, 3)
			out := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				front := layers.Compute(g, "resize", ops.Transpose(in[0], 0, 3, 1, 2), []int{length, length}, "nearest", false, false, false, "constant", 0.0, "channels_first")[0]
				return append(layers.Compute(g, "resize", in[0], []int{length, length}, "nearest"), ops.Transpose(front, 0, 2, 3, 1))
			}, x)
			for i := range length * length {
				row, column := (2*(i/length)+1)*old/(2*length), (2*(i%length)+1)*old/(2*length)
				want := x.F[3*(row*old+column):][:3]
				require.Equal(t, want, out[0].F[3*i:3*i+3], "%d to %d", old, length)
				require.Equal(t, want, out[1].F[3*i:3*i+3], "%d to %d, channels in front", old, length)
			}
		}
	}
}
