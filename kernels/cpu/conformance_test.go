package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

func TestConformance(t *testing.T) {
	for i := range 4 { // so that nothing about replicas is left out
		require.NoError(t, cpu.Backend{}.Open(kernels.Device{Kind: cpu.Kind, Index: i}))
	}
	kernelstest.Run(t, cpu.Backend{}, kernels.Device{Kind: cpu.Kind})
}
