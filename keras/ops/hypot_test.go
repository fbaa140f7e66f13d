package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

// The slopes of a hypotenuse are the cosines; they are finite even where it is 0 or infinite.
func TestGradientOfHypot(t *testing.T) {
	for _, c := range [][4]float64{{3, -4, 0.6, -0.8}, {0, 0, 0, 0}, {0, -2, 0, -1}, {math.Inf(-1), 1, -1, 0}, {1e-30, 1e-30, math.Sqrt2 / 2, math.Sqrt2 / 2}} {
		out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors { return ops.Grad(ops.Hypot(in[0], in[1]), in...) }, opstest.Scalar(c[0]), opstest.Scalar(c[1]))
		require.InDelta(t, c[2], out[0].F[0], 1e-6, "%v", c)
		require.InDelta(t, c[3], out[1].F[0], 1e-6, "%v", c)
	}
}
