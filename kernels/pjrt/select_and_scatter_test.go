//go:build linux

package pjrt_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/reference"
)

// What GPUs are given for the gradient of a maximum has the reference's results, of several maxima too, where XLA
// rewrites it for CPUs, as it does for GPUs: on one device and divided over four.
func TestSelectAndScatter(t *testing.T) {
	b := pjrt.New("scattered", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(4)})
	require.NoError(t, pjrt.LowerFor(b, "cuda"))
	mesh, device := drawnMesh(t, b, []int{2, 2}, 3)
	every := 3
	if testing.Short() {
		every = 11
	}
	n := 0
	for _, c := range kernelstest.Cases() {
		if c.Op != ir.MaxPoolGrad {
			continue
		}
		if n++; n%every != 0 {
			continue
		}
		want, err := reference.Run(c.Program, c.Inputs)
		require.NoError(t, err)
		for name, on := range map[string]struct {
			kernels.Backend
			kernels.Device
		}{"one device": {b, kernels.Device{Kind: "scattered"}}, "mesh": {mesh, device}} {
			got, err := runOnce(t, on.Backend, on.Device, c.Program, c.Inputs)
			require.NoError(t, err, "%s on %s", c.Name, name)
			assert.NoError(t, kernelstest.Compare(got[0], want[0], c.Units, c.Whole), "%s on %s", c.Name, name)
		}
	}
	require.Greater(t, n, 60)

	p := ir.New("maxima")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 6, 1}})
	windows := ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3, 1}}
	y, dy := p.AddInput("y", windows), p.AddInput("dy", windows)
	dx, err := p.Add("pool", ir.MaxPoolGrad, ir.PoolAttrs{Window: []int{2}, Strides: []int{2}, PadLow: []int{0}, PadHigh: []int{0}}, x, y, dy)
	require.NoError(t, err)
	p.AddOutput("dx", dx[0])
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	inputs := []reference.Value{
		{Type: p.Type(x), F: []float64{1, 1, nan, 2, 2, nan, inf, nan, nan, inf, nan, nan, zero, 0, 0, zero, -inf, -inf, inf, inf, -1, zero, -nan, inf}},
		{Type: windows, F: []float64{1, nan, nan, nan, nan, nan, 0, 0, -inf, inf, 0, nan}},
		{Type: windows, F: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
	}
	want, err := reference.Run(p, inputs)
	require.NoError(t, err)
	got, err := runOnce(t, mesh, device, p, inputs)
	require.NoError(t, err)
	require.NoError(t, kernelstest.Compare(got[0], want[0], 0, false))
}
