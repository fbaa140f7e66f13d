package layers_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestAdaptiveAverageInFront: averages and gradients of random channels-first images are those of the definition. Axes
// that get a single bin are not transposed.
func TestAdaptiveAverageInFront(t *testing.T) {
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 2911))
		in := []int{1 + r.IntN(3), 1 + r.IntN(4), 1 + r.IntN(9), 1 + r.IntN(9)}
		bins, rest := []int{1, 1}, in[0]*in[1]
		for i := range bins {
			if r.IntN(2) == 0 {
				bins[i] = 1 + r.IntN(in[i+2])
			}
			if bins[i] > 1 {
				rest *= in[i+2]
			}
		}
		x, dy := opstest.Normal(seed, in...), opstest.Normal(seed+1, in[0], in[1], bins[0], bins[1])
		largest := 0
		l := &layers.AdaptiveAveragePooling2D{OutputSize: bins, DataFormat: layers.ChannelsFirst, DType: "float64"}
		a := layerCall{layer: l, inputs: []opstest.Array{x}, more: func(r *distribute.Replica, in, out []*ops.Tensor) []*ops.Tensor {
			p := r.Graph().Program()
			for _, n := range p.Nodes {
				if n.Op == ir.Transpose {
					largest = max(largest, p.Type(n.Inputs[0]).Shape.Size())
				}
			}
			return ops.VJP(out, []*ops.Tensor{ops.Constant(r.Graph(), ir.Float64, dy.Shape, dy.F)}, in[0])
		}}.run(t)
		y, dx := make([]float64, len(dy.F)), make([]float64, len(x.F))
		for k := range y {
			q, p, image := k%bins[1], k/bins[1]%bins[0], k/bins[1]/bins[0]
			top, bottom := p*in[2]/bins[0], ((p+1)*in[2]+bins[0]-1)/bins[0]
			left, right := q*in[3]/bins[1], ((q+1)*in[3]+bins[1]-1)/bins[1]
			size := float64((bottom - top) * (right - left))
			for h := top; h < bottom; h++ {
				for w := left; w < right; w++ {
					at := (image*in[2]+h)*in[3] + w
					y[k] += x.F[at] / size
					dx[at] += dy.F[k] / size
				}
			}
		}
		require.InDeltaSlice(t, y, a.outputs[0].F, 1e-12, "seed %d: %v to %v", seed, in, bins)
		require.InDeltaSlice(t, dx, a.more[0].F, 1e-12, "seed %d: %v to %v", seed, in, bins)
		require.LessOrEqual(t, largest, rest, "seed %d: %v to %v", seed, in, bins)
	}
}
