package cpu

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/stretchr/testify/require"
)

// TestTinyHalfProducts multiplies many small half-precision matrices, which are converted all at once, and larger ones,
// which are not, and compares with the reference.
func TestTinyHalfProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	converted := map[bool]int{}
	for range 100 {
		dtype := []ir.DType{ir.BFloat16, ir.Float16}[r.IntN(2)]
		entries, m, k, n := 1+r.IntN(24), 1+r.IntN(1<<r.IntN(9)), 1+r.IntN(1<<r.IntN(7)), 1+r.IntN(1<<r.IntN(9))
		p := ir.New("products")
		var in []reference.Value
		var operands []ir.Value
		for _, shape := range []ir.Shape{{entries, m, k}, {entries, k, n}} {
			values := make([]float64, shape.Size())
			for i := range values {
				values[i] = r.NormFloat64()
			}
			v, err := reference.New(dtype, shape, values...)
			require.NoError(t, err)
			in = append(in, v)
			operands = append(operands, p.AddInput("", v.Type))
		}
		attrs := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}
		out, err := p.Add("", ir.Dot, attrs, operands...)
		require.NoError(t, err)
		p.AddOutput("", out[0])
		want, err := reference.Run(p, in)
		require.NoError(t, err)
		got := runOnce(t, p, in, false)
		require.NoError(t, kernelstest.Compare(got[0], want[0], 2, true), "%v", p)
		e, err := kernels.Load(Backend{}, p, kernels.Device{Kind: Kind})
		require.NoError(t, err)
		tiny := tinyMatrices(p, &p.Nodes[len(p.Nodes)-1])
		conversions := strings.Contains(strings.Join(StepNames(e), " "), "convert")
		require.Equal(t, tiny, conversions, "%v: %v", p, StepNames(e))
		converted[tiny]++
	}
	require.Greater(t, converted[true], 5)
	require.Greater(t, converted[false], 5)
}
