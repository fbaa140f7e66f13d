package layers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
)

// TestPoolingInFront: pooling a few channels of many channels-first sequences agrees with the definition.
func TestPoolingInFront(t *testing.T) {
	for _, c := range []struct{ batch, channels, steps, window, stride int }{{9, 3, 17, 3, 2}, {8, 8, 12, 4, 4}, {17, 1, 9, 2, 1}, {7, 3, 17, 3, 2}, {8, 9, 17, 3, 2}} {
		x := opstest.Normal(c.batch+c.channels, c.batch, c.channels, c.steps)
		for _, same := range []bool{false, true} {
			padding, out, low := layers.Valid, (c.steps-c.window)/c.stride+1, 0
			if same {
				padding, out = layers.Same, (c.steps+c.stride-1)/c.stride
				low = max((out-1)*c.stride+c.window-c.steps, 0) / 2
			}
			var most, means []float64
			for row := range c.batch * c.channels {
				for i := range out {
					largest, sum, count := math.Inf(-1), 0.0, 0
					for at := max(i*c.stride-low, 0); at < min(i*c.stride-low+c.window, c.steps); at++ {
						v := x.F[row*c.steps+at]
						largest, sum, count = max(largest, v), sum+v, count+1
					}
					most, means = append(most, largest), append(means, sum/float64(count))
				}
			}
			window, strides := []int{c.window}, []int{c.stride}
			for i, l := range []layers.Layer{
				&layers.MaxPooling1D{PoolSize: window, Strides: strides, Padding: padding, DataFormat: layers.ChannelsFirst, DType: "float64"},
				&layers.AveragePooling1D{PoolSize: window, Strides: strides, Padding: padding, DataFormat: layers.ChannelsFirst, DType: "float64"},
			} {
				got := layerCall{layer: l, inputs: []opstest.Array{x}}.run(t).outputs[0]
				require.Equal(t, []int{c.batch, c.channels, out}, []int(got.Shape), "%+v", c)
				require.InDeltaSlice(t, [][]float64{most, means}[i], got.F, 1e-12, "%T %+v %v", l, c, padding)
			}
		}
	}
}
