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

// TestReduceRows reduces a few rows, and many short ones, and compares with float64.
func TestReduceRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, shape := range []ir.Shape{{50, 2, 16}, {9, 3, 5}, {40, 8, 1}, {300, 2, 8}, {7, 4, 256}, {3, 5, 5000}, {2, 1000, 16}, {3, 333, 7}, {900, 4, 7}, {300, 3, 2}, {700, 8, 3}, {200, 5, 20}, {2, 3, 9000}, {2, 70, 64}, {1, 999, 130}, {1, 9000, 1}, {1, 1025, 3}, {6, 256, 3}, {9, 60, 5}, {3, 128, 2}, {5, 64, 7}, {2, 300, 1}} {
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
				allowed := 2e-6
				if n := shape[1]; kind == ir.Prod && d == ir.Float32 { // n−1 roundings in any order, of 2⁻²⁵ and more each
					allowed = max(allowed, 4*math.Sqrt(float64(n))*0x1p-25)
				}
				nans := 0
				for i := range want[0].Type.Shape.Size() {
					w, g := want[0].At(i), got[0].At(i)
					if math.IsNaN(w) {
						nans++
						require.True(t, math.IsNaN(g), name)
						continue
					}
					require.InEpsilon(t, w, g, allowed, name)
				}
				require.Equal(t, nan, nans > 0, name)
			}
		}
	}
}

// TestReduceSpecialValues puts infinities, NaN and zeros of both signs anywhere in rows of any length.
func TestReduceSpecialValues(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	specials := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat32, -math.MaxFloat32}
	lengths := []int{1, 2, 3, 5, 8, 9, 15, 16, 17, 33, 64, 70, 130, 257, 600, 1030}
	for range 600 {
		d := []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16}[r.IntN(4)]
		shape := ir.Shape{1 + r.IntN(12), lengths[r.IntN(len(lengths))], lengths[r.IntN(len(lengths))]}
		kind := []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min}[r.IntN(4)]
		axes := [][]int{{1}, {0}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}[r.IntN(7)]
		values := make([]float64, shape.Size())
		for i := range values {
			values[i] = float64(r.IntN(3) - 1) // sums and products are exact in any order
			if kind == ir.Prod {
				values[i] = float64(2*r.IntN(2) - 1)
			}
		}
		for range r.IntN(6) { // seldom two of a kind: the sum of infinities of both signs is NaN
			n := len(specials)
			if kind == ir.Sum {
				n -= 2 // the order of additions decides what the largest numbers swallow
			}
			values[r.IntN(len(values))] = specials[r.IntN(n)]
		}
		x, err := reference.New(d, shape, values...)
		require.NoError(t, err)
		p := ir.New("reduce")
		out, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, p.AddInput("x", x.Type))
		require.NoError(t, err)
		p.AddOutput("y", out[0])
		want, err := reference.Run(p, []reference.Value{x})
		require.NoError(t, err)
		got := runOnce(t, p, []reference.Value{x}, false)
		for i := range want[0].Type.Shape.Size() {
			w, g := ir.RoundFloat(d, want[0].At(i)), got[0].At(i)
			require.True(t, w == g || w != w && g != g, "%v of %v %v over %v: element %d is %v, want %v", kind, d, shape, axes, i, g, w)
		}
	}
}

// TestSumsOfManyShortRows sums few or thousands of rows of up to 70 columns, which need not be whole vectors.
func TestSumsOfManyShortRows(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 11))
	for try := range 120 {
		shape := ir.Shape{1 + r.IntN(3), 1 + r.IntN([]int{8, 80, 800, 8000}[r.IntN(4)]), 1 + r.IntN(70)}
		if shape.Size() > 1<<17 {
			shape[2] = 1 + r.IntN(4)
		}
		d := []ir.DType{ir.Float32, ir.Float64}[try%2]
		values := make([]float64, shape.Size())
		for i := range values {
			values[i] = r.NormFloat64()
		}
		bad := r.IntN(len(values))
		if try%4 == 0 {
			values[bad] = math.NaN()
		}
		x, err := reference.New(d, shape, values...)
		require.NoError(t, err)
		p := ir.New("reduce")
		out, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1}}, p.AddInput("x", x.Type))
		require.NoError(t, err)
		p.AddOutput("y", out[0])
		got := runOnce(t, p, []reference.Value{x}, false)
		for o := range shape[0] {
			for c := range shape[2] {
				want, size := 0.0, 0.0
				for k := range shape[1] {
					v := x.At((o*shape[1]+k)*shape[2] + c)
					want, size = want+v, size+math.Abs(v)
				}
				g := got[0].At(o*shape[2] + c)
				if want != want {
					require.True(t, g != g, "%v %v: sum %d of example %d is %v, want NaN", d, shape, c, o, g)
					continue
				}
				require.InDelta(t, want, g, size*map[ir.DType]float64{ir.Float32: 1e-6, ir.Float64: 1e-14}[d], "%v %v: sum %d of example %d", d, shape, c, o)
			}
		}
	}
}
