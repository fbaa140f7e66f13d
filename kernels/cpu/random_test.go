package cpu

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestIotaOfBlocks counts beyond one block, and to the end of one, twice. The second time starts from what the first
// one has left in memory.
func TestIotaOfBlocks(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16, ir.Int16, ir.Uint16, ir.Int32, ir.Int64} {
		for _, length := range []int{iotaBlock - 1, iotaBlock, iotaBlock + 1, 3*iotaBlock - 5} {
			for axis, shape := range []ir.Shape{{length, 2}, {2, length}} {
				p := ir.New("iota")
				v, err := p.Add("", ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: d, Shape: shape}, Axis: axis})
				require.NoError(t, err)
				p.AddOutput("y", v[0])
				e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
				require.NoError(t, err)
				var want []byte
				for i := range shape.Size() {
					at := i % length
					if axis == 0 {
						at = i / shape[1]
					}
					want = ir.AppendElement(want, d, float64(at))
				}
				for range 2 {
					y := newBuffer(testDevice, p.Type(v[0]))
					require.NoError(t, e.Run(context.Background(), nil, []kernels.Buffer{y}))
					require.Equal(t, want, y.Bytes(), "%v%v axis %d", d, shape, axis)
				}
				e.Close()
			}
		}
	}
}
