package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// TestActivityRegularizers: the penalty is divided by the batch size. The numbers were computed by Keras 3.15.1.
func TestActivityRegularizers(t *testing.T) {
	x := float32s([]int{3, 2}, 1, -2, 3, 0.5, -1, 4)
	for _, row := range []struct {
		layer layers.Layer
		input opstest.Array
		want  float64
	}{
		{&layers.Dense{Units: 2, KernelInitializer: initializers.Constant{Value: 0.5}, ActivityRegularizer: regularizers.L1L2{L1: 0.02, L2: 0.03}}, x, 0.16124999523162842},
		{&layers.ActivityRegularization{L1: 0.1, L2: 0.2}, x, 2.4666666984558105},
		{&layers.Embedding{InputDim: 3, OutputDim: 2, EmbeddingsInitializer: "ones", ActivityRegularizer: "l2"}, opstest.Ints([]int{1, 3}, 1, 0, 2), 0.05999999865889549},
	} {
		a := layerCall{layer: row.layer, inputs: []opstest.Array{row.input}, more: func(r *distribute.Replica, _, _ []*ops.Tensor) []*ops.Tensor {
			return r.Losses()
		}}.run(t)
		require.Len(t, a.more, 1)
		assert.InDelta(t, row.want, a.more[0].F[0], 1e-6)
	}
}
