package layers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
)

// TestResizeGradientOfInfinity: an infinite gradient of a cell makes exactly those of the elements infinite that the
// cell was computed from; elements that no cell was computed from have gradient 0.
func TestResizeGradientOfInfinity(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	for i := range 250 {
		method := []string{"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"}[i%5]
		old, length, c, antialias := 1+r.IntN(50), 1+r.IntN(50), 1+r.IntN(20), r.IntN(2) == 0
		if r.IntN(4) == 0 { // with weights in many parts
			old, length = 1+r.IntN(5), 200+r.IntN(300)
		}
		bad := r.IntN(length)
		one, infinite := make([]float64, 3*length*c), make([]float64, 3*length*c)
		for k := range one {
			if k/c == length+bad {
				one[k], infinite[k] = 1, math.Inf(1)
			}
		}
		got := opstest.EvalOn(t, "cpu", func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			y := layers.Compute(g, "resize", in[0], []int{length, 1}, method, antialias)
			return append(ops.VJP(y, in[1:2], in[0]), ops.VJP(y, in[2:], in[0])...)
		}, opstest.Floats([]int{3, old, 1, c}, make([]float64, 3*old*c)...), opstest.Floats([]int{3, length, 1, c}, one...),
			opstest.Floats([]int{3, length, 1, c}, infinite...))
		for k, slope := range got[0].F {
			want := 0.0
			if slope != 0 {
				want = math.Inf(int(math.Copysign(1, slope)))
			}
			require.Equal(t, want, got[1].F[k], "%s, antialias %v, %d to %d, cell %d: %d", method, antialias, old, length, bad, k)
		}
	}
}
