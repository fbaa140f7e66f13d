package ops_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

// TestExtractSequences compares one or many windows of random lengths and strides, and their gradients, with the
// elements that they contain.
func TestExtractSequences(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 26))
	for range 60 {
		rows, length, stride := 1+r.IntN(3), 1+r.IntN(40)*(1+r.IntN(4)), 1+r.IntN(4)
		n := length + r.IntN(30)*r.IntN(2) + r.IntN(3)
		count := (n-length)/stride + 1
		x, weights := make([]float64, rows*n), make([]float64, rows*count*length)
		want, gradient := make([]float64, len(weights)), make([]float64, len(x))
		for i := range x {
			x[i] = float64(i + 1)
		}
		for i := range weights {
			weights[i] = float64(r.IntN(9))
			at := i/(count*length)*n + i/length%count*stride + i%length
			want[i] = x[at]
			gradient[at] += weights[i]
		}
		got := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			y := ops.ExtractSequences(in[0], length, stride)
			loss := ops.Sum(ops.Multiply(y, in[1]))
			return []*ops.Tensor{y, ops.Grad(loss, in[0])[0]}
		}, opstest.Floats([]int{rows, n}, x...), opstest.Floats([]int{rows, count, length}, weights...))
		require.Equal(t, []int{rows, count, length}, got[0].Shape)
		require.Equal(t, want, got[0].F, "%d rows of %d, windows of %d every %d", rows, n, length, stride)
		require.Equal(t, gradient, got[1].F, "gradient of %d rows of %d, windows of %d every %d", rows, n, length, stride)
	}
}
