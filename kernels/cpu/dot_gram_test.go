package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestProductsWithThemselves multiplies matrices by their transposes, with a symmetric result, and by themselves. The
// axes of the batches are in the same or in another order on both sides, with a bias and without.
func TestProductsWithThemselves(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for i := range 48 {
		n, k := 100+r.IntN(60), 70+r.IntN(60)
		square := i%4 == 3
		if square {
			k = n
		}
		batch := 1 + r.IntN(2)
		values := make([]float64, batch*batch*n*k)
		for j := range values {
			values[j] = float64(r.IntN(7) - 3)
		}
		x, err := reference.New(ir.Float32, ir.Shape{batch, batch, n, k}, values...)
		require.NoError(t, err)
		p, inputs := ir.New("product"), []reference.Value{x}
		in := p.AddInput("", x.Type)
		a := ir.DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{0, 1}, LhsContract: []int{2 + i%2}, RhsContract: []int{2 + i%2}}
		if i%8 > 4 {
			a.RhsBatch = []int{1, 0}
		}
		if square {
			a.RhsContract = []int{2}
		}
		out, err := p.Add("", ir.Dot, a, in, in)
		require.NoError(t, err)
		if i%5 == 0 {
			shape := p.Type(out[0]).Shape
			bias, err := reference.New(ir.Float32, shape[3:], values[:shape[3]]...)
			require.NoError(t, err)
			inputs = append(inputs, bias)
			rows, err := p.Add("", ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{3}}, p.AddInput("", bias.Type))
			require.NoError(t, err)
			out, err = p.Add("", ir.Add, nil, out[0], rows[0])
			require.NoError(t, err)
		}
		p.AddOutput("", out[0])
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		require.NoError(t, kernelstest.Compare(runOnce(t, p, inputs, false)[0], want[0], 1, true), "%d: %v", i, p) // small integers: exact
	}
}
