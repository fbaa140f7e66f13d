//go:build linux

package cuda

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// hardware returns the device that GOKERAS_GPU_DEVICE names, cuda:0 by default, and skips a test where nobody asked for
// it to run on a GPU. What make gpu runs can be tried without one: "fakecuda:0" interprets kernels, "countcuda:0" does
// nothing.
func hardware(t testing.TB) (kernels.Backend, kernels.Device) {
	if os.Getenv("GOKERAS_GPU") == "" {
		t.Skip("GOKERAS_GPU is not set: the test is for a machine with a GPU (make gpu)")
	}
	name := os.Getenv("GOKERAS_GPU_DEVICE")
	if name == "" {
		name = "cuda:0"
	}
	d, err := kernels.ParseDevice(name)
	require.NoError(t, err)
	switch d.Kind {
	case "fakecuda":
		fakes()
	case "countcuda":
		counter()
	}
	b, err := kernels.Lookup(d.Kind)
	require.NoError(t, err)
	require.NoError(t, b.Open(d), "GOKERAS_GPU asks for a GPU")
	return b, d
}

// The suite, on a GPU; threads compute several elements where they can.
func TestHardwareConformance(t *testing.T) {
	b, d := hardware(t)
	if own, ok := b.(*backend); ok {
		defer func(before int) { own.several = before }(own.several)
		own.several = 512
	}
	kernelstest.Run(t, b, d)
}

// Training on a GPU comes to the weights of the CPU.
func TestHardwareTraining(t *testing.T) {
	_, d := hardware(t)
	for name, network := range networks {
		t.Run(name, func(t *testing.T) {
			want, _ := trained(t, "cpu:0", network())
			got, _ := trained(t, d.String(), network())
			sameWeights(t, want, got, 2e-4)
			again, _ := trained(t, d.String(), network())
			sameWeights(t, got, again, 0)
		})
	}
}

// What the machine has, and whether anything works at all. It comes first.
func TestHardwareFacts(t *testing.T) {
	b, d := hardware(t)
	all, err := b.(*backend).gpus()
	require.NoError(t, err)
	for _, g := range all {
		t.Log(g)
	}
	for _, line := range Libraries() {
		t.Log(line)
	}
	p := ir.New("p")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{1000}})
	y, err := p.Add("layer", ir.Neg, nil, x)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	in := make([]float64, 1000)
	for i := range in {
		in[i] = float64(i)
	}
	value, err := reference.New(ir.Float32, ir.Shape{1000}, in...)
	require.NoError(t, err)
	drawn := &drawn{Program: p, t: t, inputs: []reference.Value{value}, units: 1}
	drawn.check(b, d)
}
