//go:build linux

package pjrt_test

import (
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
}
