//go:build linux

package pjrt_test

import (
	"os"
	"testing"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// plugin returns the file of a PJRT plugin for CPUs, or skips the test.
func plugin(t testing.TB) string {
	path := os.Getenv("GOKERAS_PJRT_CPU")
	if path == "" {
		t.Skip("GOKERAS_PJRT_CPU does not name a PJRT plugin for CPUs (the library in the Python package lammps-jax-pjrt-cpu is one)")
	}
	return path
}

func TestConformance(t *testing.T) {
	b := pjrt.New("xla", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(4)})
	kernelstest.Run(t, b, kernels.Device{Kind: "xla"})
}
