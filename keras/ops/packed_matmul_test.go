package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// packedMatmul multiplies by a matrix of three columns: rows 1 -2 3, -4 5 -6 and 7 -8 0.
func packedMatmul(block int) opstest.Func {
	return func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		packed := ops.Constant(g, ir.Int8, ir.Shape{3, 2}, []float64{-2<<4 + 1, 3, 5<<4 + 12, 10, -8<<4 + 7, 0})
		if block == 0 {
			return []*ops.Tensor{ops.PackedMatmul(in[0], packed, nil, nil, 3, 0)}
		}
		zero := ops.Constant(g, ir.Int8, ir.Shape{2, 3}, []float64{1, 0, -3, 7, -8, 2})
		return []*ops.Tensor{ops.PackedMatmul(in[0], packed, in[1], zero, 3, block)}
	}
}

// bytesMatmul multiplies by a matrix of two columns whose rows are 1 -2, -200 0 and 50 100 before they are scaled.
func bytesMatmul(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
	matrix := ops.Constant(g, ir.Uint8, ir.Shape{2, 3}, []float64{201, 0, 52, 253, 255, 107})
	zero := ops.Constant(g, ir.Uint8, ir.Shape{2, 2}, []float64{200, 2, 255, 7})
	return []*ops.Tensor{ops.BytesMatmul(in[0], matrix, in[1], zero, 8, 2)}
}

func init() {
	addCase("bytes matmul", true, bytesMatmul, opstest.Normal(5, 2, 3), opstest.Normal(6, 2, 2))
	addCase("packed matmul", true, packedMatmul(0), opstest.Normal(1, 2, 3))
	addCase("packed matmul in blocks", true, packedMatmul(2), opstest.Normal(2, 2, 3), opstest.Normal(3, 2, 3))
}

func TestPackedMatmul(t *testing.T) {
	x := opstest.Floats([]int{2, 3}, 1, 0, 0, 1, 10, 100)
	require.Equal(t, []float64{1, -2, 3, 661, -752, -57}, opstest.Eval(t, packedMatmul(0), x)[0].F)
	scale := opstest.Floats([]int{2, 3}, 1, 2, 3, 10, 20, 30)
	require.Equal(t, []float64{0, -4, 18, -50, 96, -6072}, opstest.Eval(t, packedMatmul(2), x, scale)[0].F)
	scale = opstest.Floats([]int{2, 2}, 1, 10, 2, 20)
	require.Equal(t, []float64{1, -4, 1 - 2000 + 50000, -4 + 200000}, opstest.Eval(t, bytesMatmul, x, scale)[0].F)
}
