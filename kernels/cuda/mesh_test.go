//go:build linux

package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/layers"
)

// A model whose variables are divided over GPUs comes to what one device comes to.
func TestModelParallel(t *testing.T) {
	_, f := fakes()
	network := func() []layers.Layer {
		return []layers.Layer{
			&layers.Conv2D{Name: "conv", Filters: 4, KernelSize: []int{3}, Strides: []int{2}, Activation: "relu"},
			&layers.BatchNormalization{Name: "norm"},
			&layers.Flatten{},
			&layers.Dense{Name: "wide", Units: 8, Activation: "relu"},
			&layers.Dense{Name: "out", Units: 3},
		}
	}
	want, wantHistory := fittedOn(t, mirroredOn(t, "cpu", 1, false), network())
	for _, shape := range [][]int{{1, 2}, {2, 2}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			var devices []string
			for i := range shape[0] * shape[1] {
				devices = append(devices, fmt.Sprint("fakecuda:", i))
			}
			mesh, err := distribution.NewDeviceMesh(shape, []string{"batch", "model"}, devices...)
			require.NoError(t, err)
			layouts := distribution.NewLayoutMap(mesh)
			require.NoError(t, layouts.Set("conv/kernel", "", "", "", "model"))
			require.NoError(t, layouts.Set("(conv/bias|norm/(gamma|beta|moving_.*)|wide/bias)", "model"))
			require.NoError(t, layouts.Set("wide/kernel", "", "model"))
			require.NoError(t, layouts.Set("out/kernel", "model", ""))
			d, err := distribution.NewModelParallel(layouts, "batch")
			require.NoError(t, err)
			got, history := fittedOn(t, d, network())
			require.NoError(t, f.Fault())
			sameWeights(t, want, got, 2e-4)
			for name, values := range wantHistory.Logs {
				require.InDeltaSlice(t, values, history.Logs[name], 1e-3, name)
			}
		})
	}
}
