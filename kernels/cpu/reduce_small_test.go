package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestReduceSmallRows computes extremes of small integers in few or many columns, with few or many rows.
func TestReduceSmallRows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	for _, shape := range []ir.Shape{{50, 12, 2}, {3, 1000, 2}, {2, 2000, 1}, {4, 700, 3}, {5, 333, 16}, {5, 333, 17}, {3, 9, 24}, {3000, 4, 1}, {70, 63, 1}, {70, 65, 1}, {2, 120, 100}, {1, 70, 300}} {
		for _, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16, ir.Uint16, ir.Bool} {
			kinds := []ir.Kind{ir.Max, ir.Min}
			if d == ir.Bool {
				kinds = []ir.Kind{ir.And, ir.Or}
			}
			for _, kind := range kinds {
				values := make([]float64, shape.Size())
				for i := range values {
					switch d {
					case ir.Bool: // rare ones decide
						values[i] = float64(1 - r.IntN(shape[1]*2)/(shape[1]*2-1))
						if kind == ir.Or {
							values[i] = 1 - values[i]
						}
					case ir.Int8, ir.Int16:
						values[i] = float64(r.IntN(256) - 128)
					default:
						values[i] = float64(r.IntN(256))
					}
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
				for i := range want[0].Type.Shape.Size() {
					require.Equal(t, want[0].At(i), got[0].At(i), fmt.Sprint(kind, d, shape, i))
				}
			}
		}
	}
}
