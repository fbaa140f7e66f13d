//go:build linux

package cuda

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// hardware skips a test where nobody asked for it to run on a GPU.
func hardware(t testing.TB) {
	if os.Getenv("GOKERAS_GPU") == "" {
		t.Skip("GOKERAS_GPU is not set: the test is for a machine with a GPU (make gpu)")
	}
	require.NoError(t, own.Open(kernels.Device{Kind: Kind}), "GOKERAS_GPU asks for a GPU")
}

// The suite, on a GPU.
func TestHardwareConformance(t *testing.T) {
	hardware(t)
	kernelstest.Run(t, own, kernels.Device{Kind: Kind})
}

// Training on a GPU comes to the weights of the CPU.
func TestHardwareTraining(t *testing.T) {
	hardware(t)
	for name, network := range networks {
		t.Run(name, func(t *testing.T) {
			want, _ := trained(t, "cpu:0", network())
			got, _ := trained(t, "cuda:0", network())
			sameWeights(t, want, got, 2e-4)
			again, _ := trained(t, "cuda:0", network())
			sameWeights(t, got, again, 0)
		})
	}
}
