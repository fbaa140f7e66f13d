package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Reductions and running sums along lines of a few elements, with a few of them interleaved, and over all elements,
// compared with the reference.
func TestLinesOfFewElements(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 11))
	shapes := []ir.Shape{{211, 10}, {1300, 2}, {97, 4, 3}, {40, 5, 9}, {33, 2, 16}, {70, 64}, {9, 3, 1, 7}, {5003}}
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.Int8, ir.Uint8, ir.Int16, ir.Uint32, ir.Int64, ir.Bool} {
		for _, shape := range shapes {
			p := ir.New(fmt.Sprintf("%v %v", d, shape))
			x := p.AddInput("x", ir.Type{DType: d, Shape: shape})
			add := func(op ir.Op, attrs ir.Attrs) {
				out, err := p.Add("", op, attrs, x)
				require.NoError(t, err)
				p.AddOutput(fmt.Sprintf("%v %+v", op, attrs), out[0])
			}
			kinds := []ir.Kind{ir.Max, ir.Min}
			switch {
			case d == ir.Bool:
				kinds = []ir.Kind{ir.Or, ir.And}
			case !d.IsFloat():
				kinds = append(kinds, ir.Sum, ir.Prod)
			}
			for axis := range shape {
				for _, kind := range kinds {
					add(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{axis}})
					if d != ir.Bool {
						add(ir.Cumulative, ir.CumulativeAttrs{Kind: kind, Axis: axis})
						add(ir.Cumulative, ir.CumulativeAttrs{Kind: kind, Axis: axis, Reverse: true, Exclusive: axis == 0})
					}
				}
			}
			var value reference.Value
			if d == ir.Bool {
				bits := make([]float64, shape.Size())
				for i := range bits {
					bits[i] = float64(r.IntN(2))
				}
				var err error
				value, err = reference.New(d, shape, bits...)
				require.NoError(t, err)
			} else {
				value = crowded(t, r, d, shape, true)
			}
			got := runOnce(t, p, []reference.Value{value}, false)
			want, err := reference.Run(p, []reference.Value{value})
			require.NoError(t, err)
			for i := range want {
				require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "%s: %s", p.Name, p.Outputs[i].Name)
			}
		}
	}
}

// Products of integers by matrices that are stored by rows or by columns, with one row, and without elements.
func TestIntegerProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 13))
	for _, d := range []ir.DType{ir.Int8, ir.Uint16, ir.Int32, ir.Int64} {
		for _, c := range []struct{ left, right ir.Shape }{{ir.Shape{5, 7}, ir.Shape{7, 3}}, {ir.Shape{40, 1}, ir.Shape{1, 33}}, {ir.Shape{1, 6}, ir.Shape{6, 9}}, {ir.Shape{4, 0}, ir.Shape{0, 5}}, {ir.Shape{3, 8}, ir.Shape{8, 1}}} {
			for turned := range 4 {
				a, left, right := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, c.left, c.right
				if turned&1 != 0 {
					a.LhsContract, left = []int{0}, ir.Shape{left[1], left[0]}
				}
				if turned&2 != 0 {
					a.RhsContract, right = []int{1}, ir.Shape{right[1], right[0]}
				}
				p := ir.New(fmt.Sprint(d, left, right, turned))
				x, w := p.AddInput("x", ir.Type{DType: d, Shape: left}), p.AddInput("w", ir.Type{DType: d, Shape: right})
				out, err := p.Add("", ir.Dot, a, x, w)
				require.NoError(t, err)
				p.AddOutput("y", out[0])
				in := []reference.Value{crowded(t, r, d, left, false), crowded(t, r, d, right, false)}
				got := runOnce(t, p, in, false)
				want, err := reference.Run(p, in)
				require.NoError(t, err)
				require.Equal(t, want[0].I, got[0].I, p.Name)
			}
		}
	}
}

// Running sums start from 0 in every family, so the sum of -0 is 0.
func TestRunningSumsOfNegativeZero(t *testing.T) {
	for _, shape := range []ir.Shape{{3}, {3, 2}, {3, 40}} {
		zeros := make([]float64, shape.Size())
		for i := range zeros {
			zeros[i] = math.Copysign(0, -1)
		}
		x, err := reference.New(ir.Float32, shape, zeros...)
		require.NoError(t, err)
		p := ir.New("running")
		out, err := p.Add("", ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum}, p.AddInput("x", x.Type))
		require.NoError(t, err)
		p.AddOutput("y", out[0])
		for _, v := range runOnce(t, p, []reference.Value{x}, false)[0].F {
			require.False(t, math.Signbit(v), "%v", shape)
		}
	}
}
