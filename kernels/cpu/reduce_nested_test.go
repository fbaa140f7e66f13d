package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestReducesNestedAxes reduces a few elements along several separate axes, as the gradient of repeated cells does.
// Rows have one or several parts, and few or many channels. The bits are the same on three workers.
func TestReducesNestedAxes(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 11))
	one := 0
	for try := range 60 {
		spatial := 2 + r.IntN(2)
		shape, axes := ir.Shape{1 + r.IntN(3)}, []int{}
		for i := range spatial {
			cells := 1 + r.IntN(5)
			if i == spatial-1 {
				cells = 1 + r.IntN(80)
			}
			shape = append(shape, cells, 1+r.IntN(4))
			if try%4 > 0 || i > 0 {
				axes = append(axes, len(shape)-1)
			}
		}
		shape = append(shape, 1+r.IntN([]int{6, 40, 1200}[try%3]))
		for _, d := range []ir.DType{ir.Float32, ir.Float64} {
			if newNested(shape, geometry.AxisGroups(shape, axes), axes) != nil {
				one++
			}
			for _, kind := range []ir.Kind{ir.Sum, ir.Max} {
				p := ir.New(fmt.Sprint(d, shape, axes, kind))
				x := make([]float64, shape.Size())
				for i := range x {
					x[i] = float64(float32(r.NormFloat64()))
				}
				v, err := reference.New(d, shape, x...)
				require.NoError(t, err)
				out, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: slices.Clone(axes)}, p.AddInput("x", v.Type))
				require.NoError(t, err)
				p.AddOutput("", out[0])
				want, err := reference.Run(p, []reference.Value{v})
				require.NoError(t, err)
				got := runOnce(t, p, []reference.Value{v}, false)[0]
				require.NoError(t, kernelstest.Compare(got, want[0], 8, true), p.Name)
				require.Equal(t, got.Bytes(), runWith(t, p, []reference.Value{v}, 3)[0], p.Name)
			}
		}
	}
	require.Greater(t, one, 20, "in one pass")
}
