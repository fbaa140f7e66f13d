package testdevice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// A program gives the same on a device as by the reference.
func TestRun(t *testing.T) {
	p := ir.New("p")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	y, err := p.Add("layer", ir.Neg, nil, x)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	in, err := reference.New(ir.Float32, ir.Shape{3}, 1, 2, -3)
	require.NoError(t, err)
	for _, name := range []string{"", "cpu:0"} {
		t.Setenv("GOKERAS_TEST_DEVICE", name)
		out, err := testdevice.Run(p, []reference.Value{in})
		require.NoError(t, err)
		require.Equal(t, []float64{-1, -2, 3}, []float64{out[0].At(0), out[0].At(1), out[0].At(2)})
	}
	t.Setenv("GOKERAS_TEST_DEVICE", "abacus:0")
	_, err = testdevice.Run(p, []reference.Value{in})
	require.ErrorContains(t, err, "abacus")
}
