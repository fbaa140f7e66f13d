//go:build linux

package distribution_test

import (
	"os"
	"testing"

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
	modelParallelIsKeras(t, distribution.ListDevices("xla4"))
}
