package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestReducesAnySeveralAxes reduces any axes of any shape with large rows, including axes of length 1, with infinities
// and NaN. The bits are those of one worker, and entries of a batch have the bits that they have alone.
func TestReducesAnySeveralAxes(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 11))
	one, units := 0, 0
	for try := range 150 {
		shape, axes := ir.Shape{1 + r.IntN(3)}, []int{}
		for i, n := range []int{1 + r.IntN(4), 1 + r.IntN(3), 1 + r.IntN(4), 1 + r.IntN(40), 1 + r.IntN(5), 1 + r.IntN([]int{6, 40, 300}[try%3])} {
			if r.IntN(4) == 0 {
				if shape = append(shape, 1); r.IntN(2) == 0 {
					axes = append(axes, len(shape)-1)
				}
			}
			if shape = append(shape, n); i == 0 || i == 4 || r.IntN(3) == 0 && i < 4 {
				axes = append(axes, len(shape)-1)
			}
		}
		d := []ir.DType{ir.Float32, ir.Float64, ir.Float16}[r.IntN(3)]
		if n := newNested(shape, geometry.AxisGroups(shape, axes), axes); n != nil {
			one++
			for _, a := range axes {
				if shape[a] == 1 {
					units++
					break
				}
			}
		}
		kind := []ir.Kind{ir.Sum, ir.Max, ir.Min, ir.Prod}[r.IntN(4)]
		special := r.IntN(3) == 0
		x := make([]float64, shape.Size())
		for i := range x {
			x[i] = float64(r.IntN(9)-4) / 4
			if kind == ir.Prod {
				x[i] = []float64{1, -1, 0.5, 2, 1, 1}[r.IntN(6)]
			}
			if special && r.IntN(200) == 0 {
				x[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
			}
		}
		run := func(shape ir.Shape, x []float64) (reference.Value, reference.Value, []byte) {
			p := ir.New(fmt.Sprint(d, shape, axes, kind))
			v, err := reference.New(d, shape, x...)
			require.NoError(t, err)
			out, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, p.AddInput("x", v.Type))
			require.NoError(t, err)
			p.AddOutput("", out[0])
			want, err := reference.Run(p, []reference.Value{v})
			require.NoError(t, err)
			return runOnce(t, p, []reference.Value{v}, false)[0], want[0], runWith(t, p, []reference.Value{v}, 3)[0]
		}
		name := fmt.Sprint(d, shape, axes, kind)
		got, want, several := run(shape, x)
		require.NoError(t, kernelstest.Compare(got, want, 8, true), name)
		require.Equal(t, got.Bytes(), several, name)
		entry := shape.Clone()
		entry[0] = 1
		first, _, _ := run(entry, x[:entry.Size()])
		part, err := reference.FromBytes(first.Type, got.Bytes()[:first.Type.Bytes()])
		require.NoError(t, err)
		require.NoError(t, kernelstest.Compare(part, first, 0, true), "%s: a batch and its first entry", name)
	}
	require.Greater(t, one, 15, "in one pass")
	require.Greater(t, units, 3, "with axes of one element")
}
