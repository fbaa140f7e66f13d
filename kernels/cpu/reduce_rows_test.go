package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestReduceRows combines a few rows, and many short ones, and compares with float64.
func TestReduceRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, shape := range []ir.Shape{{50, 2, 16}, {9, 3, 5}, {40, 8, 1}, {300, 2, 8}, {7, 4, 256}, {3, 5, 5000}, {2, 1000, 16}, {3, 333, 7}, {2, 70, 64}, {1, 999, 130}, {1, 9000, 1}, {1, 1025, 3}} {
		for _, d := range []ir.DType{ir.Float32, ir.Float64} {
			for _, kind := range []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min} {
				name := fmt.Sprint(kind, d, shape)
				values := make([]float64, shape.Size())
				for i := range values {
					values[i] = float64(float32(1 + 0.01*r.NormFloat64()))
				}
				nan := shape.Size() > 1000
				if nan {
					values[len(values)/2] = math.NaN()
				}
				x, err := reference.New(d, shape, values...)
				require.NoError(t, err)
				p := ir.New("reduce")
				out, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, p.AddInput("x", x.Type))
				require.NoError(t, err)
				p.AddOutput("y", out[0])
				want, err := reference.Run(p, []reference.Value{x})
				require.NoError(t, err)
				got := runOnce(t, p, []reference.Value{x}, false)
				nans := 0
				for i := range want[0].Type.Shape.Size() {
					w, g := want[0].At(i), got[0].At(i)
					if math.IsNaN(w) {
						nans++
						require.True(t, math.IsNaN(g), name)
						continue
					}
					require.InEpsilon(t, w, g, 2e-6, name)
				}
				require.Equal(t, nan, nans > 0, name)
			}
		}
	}
}
