package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// packedEmbedding looks up rows 1, 0 and 1 of a table of the rows 1 -2 3 and -8 5 7, whose first two numbers share a
// scale and a zero point if there are blocks.
func packedEmbedding(bits, block int) opstest.Func {
	return func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		table := ops.Constant(g, ir.Int8, ir.Shape{2, 2}, []float64{-2<<4 + 1, 3, 5<<4 + 8, 7})
		if bits == 8 {
			table = ops.Constant(g, ir.Int8, ir.Shape{2, 3}, []float64{1, -2, 3, -8, 5, 7})
		}
		ids := ops.Constant(g, ir.Int32, ir.Shape{3}, []float64{1, 0, 1})
		var zero *ops.Tensor
		if block > 0 {
			zero = ops.Constant(g, ir.Int8, ir.Shape{2, 2}, []float64{1, 0, -3, 7})
		}
		return []*ops.Tensor{ops.PackedEmbedding(table, ids, in[0], zero, 3, block, bits)}
	}
}

func init() {
	addCase("packed embedding of bytes", true, packedEmbedding(8, 0), opstest.Random(1, 0.5, 2, 2))
	addCase("packed embedding", true, packedEmbedding(4, 0), opstest.Random(2, 0.5, 2, 2))
	addCase("packed embedding in blocks", true, packedEmbedding(4, 2), opstest.Normal(3, 2, 2))
}

func TestPackedEmbedding(t *testing.T) {
	scale := opstest.Floats([]int{2}, 0.5, 0.25)
	for _, bits := range []int{4, 8} {
		require.Equal(t, []float64{-32, 20, 28, 2, -4, 6, -32, 20, 28}, opstest.Eval(t, packedEmbedding(bits, 0), scale)[0].F)
	}
	scale = opstest.Floats([]int{2, 2}, 1, 10, 2, 20)
	require.Equal(t, []float64{-10, 16, 0, 0, -3, 30, -10, 16, 0}, opstest.Eval(t, packedEmbedding(4, 2), scale)[0].F)
}
