package ops_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

// TestTriangles compares triangles of flat, tall and square matrices, and their gradients, with the elements that they
// keep. Those of large matrices that the diagonal leaves soon are put together of parts.
func TestTriangles(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for range 120 {
		batch, rows, columns := 1+r.IntN(2), 1+r.IntN(60), 1+r.IntN(60)
		switch r.IntN(4) {
		case 0:
			columns = 100 + r.IntN(2000)
		case 1:
			rows = 100 + r.IntN(2000)
		}
		k := r.IntN(rows+columns+8) - rows - 4
		x, weights, n := make([]float64, batch*rows*columns), make([]float64, batch*rows*columns), rows*columns
		lower, upper, gradient := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
		for i := range x {
			x[i], weights[i] = float64(i+1), float64(r.IntN(9))
			if row, column := i%n/columns, i%columns; column-row <= k {
				lower[i] = x[i]
				gradient[i] = weights[i]
			} else {
				gradient[i] = 2 * weights[i]
			}
			if row, column := i%n/columns, i%columns; column-row >= k {
				upper[i] = x[i]
			}
		}
		got := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			loss := ops.Sum(ops.Multiply(ops.Add(ops.Tril(in[0], k), ops.MultiplyScalar(ops.Triu(in[0], k+1), 2)), in[1]))
			return []*ops.Tensor{ops.Tril(in[0], k), ops.Triu(in[0], k), ops.Grad(loss, in[0])[0]}
		}, opstest.Floats([]int{batch, rows, columns}, x...), opstest.Floats([]int{batch, rows, columns}, weights...))
		require.Equal(t, lower, got[0].F, "%d %dx%d, lower triangle up to %d", batch, rows, columns, k)
		require.Equal(t, upper, got[1].F, "%d %dx%d, upper triangle from %d", batch, rows, columns, k)
		require.Equal(t, gradient, got[2].F, "%d %dx%d, gradients of triangles at %d", batch, rows, columns, k)
	}
}
