package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// A few long rows have the reference's sums, products and extremes, part by part. No rows give the identity.
func TestReducesLongRows(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 37))
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, s := range []ir.Shape{{2, 2*longPart + 3}, {10, 3 * longPart}, {3, 5, 2 * longPart}, {rowBlock, 2*longPart + 1}, {0, 5}} {
			for _, kind := range []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min} {
				p := ir.New(fmt.Sprint(d, s, kind))
				x := make([]float64, s.Size())
				for i := range x {
					x[i] = float64(float32(r.NormFloat64()))
				}
				v, err := reference.New(d, s, x...)
				require.NoError(t, err)
				out, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{len(s) - 2}}, p.AddInput("x", v.Type))
				require.NoError(t, err)
				p.AddOutput("", out[0])
				want, err := reference.Run(p, []reference.Value{v})
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(runOnce(t, p, []reference.Value{v}, false)[0], want[0], 8, true), p.Name)
			}
		}
	}
}
