//go:build linux

package distribution_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// Models whose variables lie in parts on 4 devices have the losses, scores and weights of Keras's ModelParallel on 8.
// (The keys of the recorded layout maps match no path of Keras's model, whose variables stayed whole; the numbers are
// the same.)
func TestModelParallelIsKeras(t *testing.T) {
	plugin := os.Getenv("GOKERAS_PJRT_CPU")
	if plugin == "" {
		t.Skip("GOKERAS_PJRT_CPU does not name a PJRT plugin for CPUs (the library in the Python package lammps-jax-pjrt-cpu is one)")
	}
	kernels.Register(pjrt.New("xla4", plugin, pjrt.Option{Name: "cpu_device_count", Value: int64(4)}))
	ran := 0
	for _, c := range tfvectors.Load(t, "testdata/keras_distribution.json.gz") {
		name, ok := strings.CutPrefix(c.ID, "keras_distribution.model_parallel_")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			shape, keys := []int{2, 2}, map[string][]string{"d1/kernel": {"", "model"}, "d1/bias": {"model"}, "d2/kernel": {"model", ""}}
			switch {
			case strings.HasPrefix(name, "1x8"):
				shape, keys = []int{1, 4}, map[string][]string{"d1.*kernel": {"", "model"}, "d1.*bias": {"model"}}
			case strings.HasPrefix(name, "4x2"):
				keys = map[string][]string{"d1/kernel": {"", "model"}}
			}
			mesh, err := distribution.NewDeviceMesh(shape, []string{"batch", "model"}, distribution.ListDevices("xla4")...)
			require.NoError(t, err)
			layouts := distribution.NewLayoutMap(mesh)
			for key, axes := range keys {
				require.NoError(t, layouts.Set(key, axes...))
			}
			d, err := distribution.NewModelParallel(layouts, "batch")
			require.NoError(t, err)
			check(t, &c, d)
		})
		ran++
	}
	require.Equal(t, 5, ran)
}
