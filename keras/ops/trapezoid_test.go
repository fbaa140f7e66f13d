package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// A long row has the integral of a short one: the mean of both Riemann sums, infinite if an end is, with half of the
// gradient at the ends.
func TestTrapezoidOfLongRows(t *testing.T) {
	for _, n := range []int{4096, 4097, 9000} {
		x := make([]float64, 2*n)
		left, right := 0.0, 0.0
		for i := range n {
			x[i] = math.Sin(float64(i)) + 0.1
			x[n+i] = 1
			if i > 0 {
				left, right = left+x[i-1], right+x[i]
			}
		}
		x[n] = math.Inf(1)
		g := ops.NewGraph("trapezoid")
		y := g.Input("y", ir.Float64, 2, n)
		area := ops.Trapezoid(y, 1, -1)
		slope := ops.VJP([]*ops.Tensor{area}, []*ops.Tensor{ops.FullLike(area, 3)}, y)
		g.Program().AddOutput("area", area.Value())
		g.Program().AddOutput("slope", slope[0].Value())
		in, err := reference.New(ir.Float64, ir.Shape{2, n}, x...)
		require.NoError(t, err)
		out, err := reference.Run(g.Program(), []reference.Value{in})
		require.NoError(t, err)
		require.Equal(t, ir.Shape{2}, out[0].Type.Shape)
		require.InDelta(t, (left+right)/2, out[0].F[0], 1e-10)
		require.Equal(t, math.Inf(1), out[0].F[1])
		for i, v := range out[1].F {
			want := 3.0
			if i%n == 0 || i%n == n-1 {
				want = 1.5
			}
			require.Equal(t, want, v, "element %d", i)
		}
	}
}
