package quantizers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// TestQuantizingByPieces: matrices of several pieces of rows, whose last block is not full, are quantized like
// undivided ones: every number is within half a step, and the zeros that pad a block count for its range.
func TestQuantizingByPieces(t *testing.T) {
	const rows, columns, block = 131, 127, 32
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float64, rows*columns)
	for i := range v {
		v[i] = float64(float32(r.NormFloat64() + 3)) // mostly above zero: without the zeros the last block would have another range
	}
	x, err := kernels.FromFloat64s(ir.Float32, ir.Shape{rows, columns}, v)
	require.NoError(t, err)
	q, scale, err := (&quantizers.AbsMaxQuantizer{}).QuantizeArray(x, 0)
	require.NoError(t, err)
	for i := range v {
		require.InDelta(t, v[i]*scale.Element(i%columns), q.Element(i), 0.501, "element %d", i)
	}
	g, err := quantizers.QuantizeGrouped(x, block)
	require.NoError(t, err)
	for b := range (rows + block - 1) / block {
		for j := range columns {
			least, most := math.Inf(1), math.Inf(-1)
			for i := b * block; i < (b+1)*block; i++ {
				n := 0.0
				if i < rows {
					n = v[i*columns+j]
				}
				least, most = min(least, n), max(most, n)
			}
			require.InEpsilon(t, (most-least+1e-7)/15, g.Scale.Element(b*columns+j), 1e-5, "block %d, column %d", b, j)
		}
	}
}
