package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

func TestResample(t *testing.T) {
	x := opstest.Floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	got := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor {
		return ops.Resample(x, -1, 2, []int{0, 1, 2, 2, 1, 2, 0, 0}, []float64{0.5, 0.5, 1, 0, 2, -1, 1, 1})
	}), x)
	require.Equal(t, []float64{1.5, 3, 1, 2, 4.5, 6, 4, 8}, got[0].F)
}

func init() {
	square := unary(func(x *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.Resample(x, 1, 2, []int{0, 1, 1, 1, 2, 1, 3, 2}, []float64{0.3, 0.7, 0.4, 0.6, 1.5, -0.5, 1, 0}))
	})
	addCase("resample", true, square, opstest.Distinct(3, 0.1, 2, 5, 2))
}

// A gradient that is not finite reaches only the cells that its cell was computed from.
func TestResampleGradientKeepsNaNInPlace(t *testing.T) {
	got := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		y := ops.Resample(in[0], 0, 2, []int{0, 1, 1, 2, 2, 3}, []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5})
		return ops.VJP([]*ops.Tensor{y}, []*ops.Tensor{in[1]}, in[0])
	}, opstest.Floats([]int{4}, 1, 2, 3, 4), opstest.Floats([]int{3}, math.NaN(), 1, 1))
	for i, v := range got[0].F {
		require.Equal(t, i < 2, math.IsNaN(v), "%d: %v", i, v)
	}
	require.Equal(t, []float64{1, 0.5}, got[0].F[2:])
}

func TestResampleRefuses(t *testing.T) {
	x := opstest.Floats([]int{3}, 1, 2, 3)
	for name, c := range map[string]struct {
		taps    int
		cells   []int
		weights []float64
		want    string
	}{
		"beyond the axis": {1, []int{3}, []float64{1}, "reads cell 3 of an axis of length 3"},
		"no taps":         {0, nil, nil, "a multiple of the 0 taps"},
		"uneven":          {2, []int{1}, []float64{1}, "a multiple of the 2 taps"},
	} {
		err := opstest.EvalError(unary(func(x *ops.Tensor) *ops.Tensor { return ops.Resample(x, 0, c.taps, c.cells, c.weights) }), x)
		require.ErrorContains(t, err, c.want, name)
	}
}
