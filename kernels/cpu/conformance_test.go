package cpu_test

import (
	"testing"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

func TestConformance(t *testing.T) {
	kernelstest.Run(t, cpu.Backend{}, kernels.Device{Kind: cpu.Kind})
}
