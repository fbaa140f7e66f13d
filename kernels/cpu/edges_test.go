package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// TestEdges runs every op on axes of length 0 and 1, and of lengths around those of vectors, in every family of
// kernels.
func TestEdges(t *testing.T) {
	device := kernels.Device{Kind: cpu.Kind}
	for i, path := range isa.Paths() {
		restore := isa.Override(path)
		every := 1
		if testing.Short() {
			every = 40
		}
		require.Positive(t, kernelstest.RunEdges(t, cpu.Backend{}, device, uint64(i), every))
		restore()
	}
}
