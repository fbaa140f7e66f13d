package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestSeparateAxes reduces axes that are not neighbours, and broadcasts the results back, as group normalization does.
// Pieces are repeated within longer ones, over many blocks.
func TestSeparateAxes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, c := range []struct {
		shape ir.Shape
		axes  []int
	}{
		{ir.Shape{3, 40, 9, 4, 5}, []int{1, 2, 4}},
		{ir.Shape{3, 40, 9, 8, 1}, []int{1, 2, 4}},
		{ir.Shape{2, 700, 3, 7}, []int{1, 3}},
		{ir.Shape{2, 700, 3, 7}, []int{1}},
		{ir.Shape{5, 33, 64}, []int{1}},
		{ir.Shape{2, 3, 4000, 2}, []int{0, 3}},
		{ir.Shape{6, 5000}, []int{1}},
		{ir.Shape{6, 2, 3, 2, 300}, []int{1, 3}},
	} {
		for _, kind := range []ir.Kind{ir.Sum, ir.Max} {
			p := ir.New("reduce")
			values := make([]float64, c.shape.Size())
			for i := range values {
				values[i] = r.NormFloat64()
			}
			v, err := reference.New(ir.Float32, c.shape, values...)
			require.NoError(t, err)
			x := p.AddInput("x", v.Type)
			add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
				out, err := p.Add("", op, attrs, in...)
				require.NoError(t, err)
				return out[0]
			}
			var kept []int
			for i := range c.shape {
				if !slices.Contains(c.axes, i) {
					kept = append(kept, i)
				}
			}
			m := add(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: c.axes}, x)
			wide := add(ir.Broadcast, ir.BroadcastAttrs{Shape: c.shape, Axes: kept}, m)
			p.AddOutput("y", add(ir.Sub, nil, add(ir.Mul, nil, x, wide), wide))
			p.AddOutput("m", m)
			want, err := reference.Run(p, []reference.Value{v})
			require.NoError(t, err)
			for i, got := range runOnce(t, p, []reference.Value{v}, false) {
				require.NoError(t, kernelstest.Compare(got, want[i], 2000, true), fmt.Sprintf("%v %v %v: output %d", c.shape, c.axes, kind, i))
			}
		}
	}
}

// TestShortRows reduces rows that are too short for a call each. A row has the same bits alone as among many, by itself
// and in an elementwise unit.
func TestShortRows(t *testing.T) {
	for n := 1; n <= turnedOther+2; n++ {
		for _, kind := range []ir.Kind{ir.Sum, ir.Max, ir.Min, ir.Prod} {
			const rows = 37
			build := func(rows int) *ir.Program {
				g := graphBuilder{t, ir.New("rows")}
				x := g.p.AddInput("x", single(rows, n))
				g.p.AddOutput("alone", g.one(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, x))
				g.p.AddOutput("unit", g.one(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, g.one(ir.Neg, nil, g.one(ir.Neg, nil, g.one(ir.Abs, nil, x)))))
				return g.p
			}
			many := build(rows)
			inputs := randomInputs(t, many)
			if kind != ir.Prod {
				inputs[0].F[5*n] = math.NaN()
			}
			want, err := reference.Run(many, inputs)
			require.NoError(t, err)
			got := runOnce(t, many, inputs, false)
			for i := range got {
				require.NoError(t, kernelstest.Compare(got[i], want[i], 10, true), "%v of %d, output %d", kind, n, i)
			}
			for r := range rows {
				v, err := reference.New(ir.Float32, ir.Shape{1, n}, inputs[0].F[r*n:(r+1)*n]...)
				require.NoError(t, err)
				for i, y := range runOnce(t, build(1), []reference.Value{v}, false) {
					w, g := got[i].At(r), y.At(0)
					require.True(t, math.Float64bits(w) == math.Float64bits(g) || w != w && g != g, "%v of %d, output %d, row %d: %v, %v", kind, n, i, r, w, g)
				}
			}
		}
	}
}
