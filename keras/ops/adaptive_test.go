package ops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// cellOf returns the elements of cell k of m over n: from floor(k·n/m) to below ceil((k+1)·n/m).
func cellOf(k, n, m int) (from, to int) { return k * n / m, ((k+1)*n + m - 1) / m }

// TestAdaptivePoolingDraws compares averages and maxima of random lengths, and their gradients, with loops over the
// cells. Many elements are equal, and the largest ones of a cell share its gradient.
func TestAdaptivePoolingDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 120 {
		n, m := 1+r.IntN(40), 1+r.IntN(45)
		if r.IntN(2) == 0 { // with a common divisor
			f := 1 + r.IntN(6)
			n, m = f*(1+r.IntN(9)), f*(1+r.IntN(9))
		}
		t.Run(fmt.Sprint(n, " to ", m), func(t *testing.T) {
			x, dy := make([]float64, n), make([]float64, m)
			for i := range x {
				x[i] = float64(r.IntN(4))
			}
			means, most, dx, chosen := make([]float64, m), make([]float64, m), make([]float64, n), make([]float64, n)
			for k := range m {
				from, to := cellOf(k, n, m)
				dy[k], most[k] = r.NormFloat64(), x[from]
				for i := from; i < to; i++ {
					means[k] += x[i] / float64(to-from)
					most[k] = max(most[k], x[i])
					dx[i] += dy[k] / float64(to-from)
				}
				giveLargest(chosen[from:to], x[from:to], dy[k])
			}
			g := ops.NewGraph("adaptive")
			in, weights := g.Input("x", ir.Float64, 1, n, 1), g.Input("dy", ir.Float64, 1, m, 1)
			y, top := ops.AdaptiveAveragePool(in, m), ops.AdaptiveMaxPool(in, m)
			gradient := func(y *ops.Tensor) *ops.Tensor { return ops.VJP([]*ops.Tensor{y}, []*ops.Tensor{weights}, in)[0] }
			for _, out := range []*ops.Tensor{y, top, gradient(y), gradient(top)} {
				g.Program().AddOutput("y", out.Value())
			}
			a, err := reference.New(ir.Float64, ir.Shape{1, n, 1}, x...)
			require.NoError(t, err)
			b, err := reference.New(ir.Float64, ir.Shape{1, m, 1}, dy...)
			require.NoError(t, err)
			out, err := reference.Run(g.Program(), []reference.Value{a, b})
			require.NoError(t, err)
			require.InDeltaSlice(t, means, out[0].F, 1e-12)
			require.Equal(t, most, out[1].F)
			require.InDeltaSlice(t, dx, out[2].F, 1e-12)
			require.InDeltaSlice(t, chosen, out[3].F, 1e-12)
		})
	}
}

// giveLargest adds equal shares of a cell's gradient to its largest elements.
func giveLargest(dx, x []float64, dy float64) {
	top, count := slices.Max(x), 0.0
	for _, v := range x {
		if v == top {
			count++
		}
	}
	for i, v := range x {
		if v == top {
			dx[i] += dy / count
		}
	}
}

// TestAdaptiveAverageOfInfinity: an infinite element makes exactly the cells infinite that contain it, wherever it is
// in them.
func TestAdaptiveAverageOfInfinity(t *testing.T) {
	const n, m = 5, 3 // cells of two, three and two elements
	for at := range n {
		x := []float64{1, 2, 3, 4, 5}
		x[at] = math.Inf(1)
		g := ops.NewGraph("adaptive")
		g.Program().AddOutput("y", ops.AdaptiveAveragePool(g.Input("x", ir.Float64, 1, n, 1), m).Value())
		a, err := reference.New(ir.Float64, ir.Shape{1, n, 1}, x...)
		require.NoError(t, err)
		out, err := reference.Run(g.Program(), []reference.Value{a})
		require.NoError(t, err)
		for k, y := range out[0].F {
			from, to := cellOf(k, n, m)
			require.Equal(t, from <= at && at < to, math.IsInf(y, 1), "element %d, cell %d: %v", at, k, y)
		}
	}
}

// TestAdaptiveAveragesAreRounded: averages of a constant are the constant, others are within the rounding errors of a
// cell's sum and one division; sums of integers are exact.
func TestAdaptiveAveragesAreRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.BFloat16, ir.Float16} {
		for range 40 {
			n, m, c := 2+r.IntN(40), 1+r.IntN(45), 1+r.IntN(20)
			fives, xs := make([]float64, 3*n*c), make([]float64, 3*n*c)
			for i := range xs {
				fives[i], xs[i] = 5, float64(1+r.IntN(200))
			}
			got := opstest.EvalOn(t, "cpu", func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.AdaptiveAveragePool(in[0], m), ops.AdaptiveAveragePool(in[1], m)}
			}, opstest.Floats([]int{3, n, c}, fives...).As(d), opstest.Floats([]int{3, n, c}, xs...).As(d))
			for i, v := range got[0].F {
				require.Equal(t, 5., v, "%v, %d of %d to %d", d, i, n, m)
				from, to := cellOf(i/c%m, n, m)
				sum := 0.0
				for j := from; j < to; j++ {
					sum += xs[(i/(m*c)*n+j)*c+i%c]
				}
				of := got[1].Type().DType
				want := ir.RoundFloat(ir.Float32, sum/float64(to-from))
				if of == ir.Float64 {
					want = sum / float64(to-from)
				}
				require.Equal(t, ir.RoundFloat(of, want), got[1].F[i], "%v, %d of %d to %d", d, i, n, m)
			}
		}
	}
}

// TestAdaptiveGradientOfInfinity: an infinite gradient of a cell makes exactly those of its elements infinite.
func TestAdaptiveGradientOfInfinity(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	for range 150 {
		n, m, c := 1+r.IntN(60), 1+r.IntN(45), 1+r.IntN(20)
		bad, dy := r.IntN(m), make([]float64, 3*m*c)
		for i := range dy {
			if dy[i] = 1; i/c == m+bad {
				dy[i] = math.Inf(1)
			}
		}
		got := opstest.EvalOn(t, "cpu", func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			return ops.VJP([]*ops.Tensor{ops.AdaptiveAveragePool(in[0], m)}, []*ops.Tensor{in[1]}, in[0])
		}, opstest.Floats([]int{3, n, c}, make([]float64, 3*n*c)...), opstest.Floats([]int{3, m, c}, dy...))
		from, to := cellOf(bad, n, m)
		for i, v := range got[0].F {
			require.Equal(t, i/(n*c) == 1 && from <= i/c%n && i/c%n < to, math.IsInf(v, 1), "%d to %d, cell %d: %d is %v", n, m, bad, i, v)
			require.False(t, v != v)
		}
	}
}
