package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Asking for more memory than there is is an error, and does not end the process.
func TestAbsurdSizes(t *testing.T) {
	device := kernels.Device{Kind: Kind}
	for _, shape := range []ir.Shape{{1 << 45}, {1 << 40, 1 << 40}, {1 << 32, 1 << 32, 1 << 32}} {
		_, err := Backend{}.NewBuffer(device, ir.Type{DType: ir.Float32, Shape: shape})
		require.ErrorContains(t, err, "memory", "%v", shape)
	}
	p := ir.New("wide")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{1}})
	wide, err := p.Add("layer", ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{1 << 46}, Axes: []int{0}}, x)
	require.NoError(t, err)
	p.AddOutput("y", wide[0])
	_, err = kernels.Load(Backend{}, p, device)
	require.ErrorContains(t, err, "layer: ")
	require.ErrorContains(t, err, "more than a machine can address")
}
