//go:build linux

package distribution_test

import (
	"os"
	"sync"
	"testing"

	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// Models whose variables lie in parts on 4 devices have the losses, scores and weights of Keras's ModelParallel on 8.
// (The keys of the recorded layout maps match no path of Keras's model, whose variables stayed whole; the numbers are
// the same.)
func TestModelParallelIsKeras(t *testing.T) { modelParallelIsKeras(t, pluginDevices(t)) }

// XLA, given layouts of what layers compute, leaves losses and weights those of Keras.
func TestDistributeTensorIsKeras(t *testing.T) { distributeTensorIsKeras(t, pluginDevices(t)) }

var xla = sync.OnceFunc(func() {
	kernels.Register(pjrt.New("xla4", os.Getenv("GOKERAS_PJRT_CPU"), pjrt.Option{Name: "cpu_device_count", Value: int64(4)}))
})

// pluginDevices are 4 devices of the plugin for CPUs; without it the test is skipped.
func pluginDevices(t *testing.T) []string {
	if os.Getenv("GOKERAS_PJRT_CPU") == "" {
		t.Skip("GOKERAS_PJRT_CPU does not name a PJRT plugin for CPUs (the library in the Python package lammps-jax-pjrt-cpu is one)")
	}
	xla()
	return distribution.ListDevices("xla4")
}
