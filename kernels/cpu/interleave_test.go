package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestInterleave interleaves the elements of up to four operands, starting anywhere.
func TestInterleave(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for _, d := range []ir.DType{ir.Int8, ir.Float16, ir.Int32, ir.Float64} {
		for count := 2; count <= 4; count++ {
			for _, n := range []int{1, 2, 7, 8, 33, 100} {
				size, total := d.Size(), n+5
				var sources []*plan.Operand
				for range count {
					bytes := make([]byte, total*size)
					for i := range bytes {
						bytes[i] = byte(r.Uint32())
					}
					o := &plan.Operand{Mem: &plan.Storage{Bytes: len(bytes), Ptr: plan.PointerTo(bytes)}, Typ: ir.Type{DType: d, Shape: ir.Shape{total}}, N: total}
					sources = append(sources, o)
				}
				require.True(t, interleaves(sources, total, size))
				first, got := r.IntN(6), make([]byte, n*count*size)
				interleave(unsafe.Pointer(unsafe.SliceData(got)), sources, size, first, n)
				var want []byte
				for i := range n {
					for _, o := range sources {
						want = append(want, plan.Raw(o)[(first+i)*size:(first+i+1)*size]...)
					}
				}
				require.Equal(t, want, got, fmt.Sprint(d, count, n))
			}
		}
	}
}
