//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// NCCL combines the values of a call in so many packs, of whatever lengths, one lot for each type, with the results of
// each value on its own; means are still divided. Without packs there is a call for each value.
func TestNCCLPacks(t *testing.T) {
	const n = 2
	types := []ir.Type{{DType: ir.Float32, Shape: ir.Shape{5}}, {DType: ir.Int32, Shape: ir.Shape{3}}, {DType: ir.Float32, Shape: ir.Shape{2, 4}}, {DType: ir.Float32, Shape: ir.Shape{0}}, {DType: ir.BFloat16, Shape: ir.Shape{3}}, {DType: ir.Float32, Shape: ir.Shape{}}}
	for _, c := range []struct{ packs, calls int }{{0, 4}, {1, 2}, {2, 4}, {4, 7}, {100, 17}} { // 14 float32 and 3 int32
		for _, kind := range []ir.Kind{ir.Sum, ir.Mean} {
			t.Run(fmt.Sprint(c.packs, " ", kind), func(t *testing.T) {
				p := newProcess(fakenccl.NewWorld(), fakedriver.Options{Devices: n})
				devices := []kernels.Device{{Kind: Kind}, {Kind: Kind, Index: 1}}
				comms, err := p.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices, Library: kernels.NCCL, Packs: c.packs})
				require.NoError(t, err)
				calls, want := types, c.calls
				if kind == ir.Mean { // of integers there is none
					calls, want = append([]ir.Type{types[0]}, types[2:]...), map[int]int{0: 3, 1: 1, 2: 2, 4: 4, 100: 14}[c.packs]
				}
				for r, err := range each(n, func(r int) (failed error) {
					var values []kernels.Buffer
					for k, typ := range calls {
						b, err := p.NewBuffer(devices[r], typ)
						require.NoError(t, err)
						defer b.Free()
						var data []byte
						for i := range typ.Shape.Size() {
							data = ir.AppendElement(data, typ.DType, float64(10*k+i+r))
						}
						require.NoError(t, b.Write(data))
						values = append(values, b)
					}
					if err := comms[r].AllReduce(context.Background(), kind, values); err != nil {
						return err
					}
					for k, b := range values {
						data := make([]byte, b.Type().Bytes())
						failed = errors.Join(failed, b.Read(data))
						for i := range b.Type().Shape.Size() {
							sum := float64(2*(10*k+i) + 1)
							if kind == ir.Mean {
								sum /= n
							}
							if got := ir.Element(data, b.Type().DType, i); got != sum && b.Type().DType != ir.BFloat16 {
								failed = errors.Join(failed, fmt.Errorf("element %d of value %d is %v, expected %v", i, k, got, sum))
							}
						}
					}
					return failed
				}) {
					require.NoError(t, err, "replica %d", r)
				}
				require.Equal(t, n*want, p.library.Calls()["ncclAllReduce"])
				for _, end := range comms {
					end.Close()
				}
				require.NoError(t, p.clean())
			})
		}
	}
}
