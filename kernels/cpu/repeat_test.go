package cpu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestRepeatedElements: broadcasts along the last axis repeat every element, of an operand with that axis or without.
func TestRepeatedElements(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Int64, ir.Uint8} {
		for count := 1; count <= 5; count++ {
			for _, shape := range []ir.Shape{{3, 37}, {1, 3}, {40}, {5, 1, 33, 1}, {2309}} {
				rank := len(shape)
				a := ir.BroadcastAttrs{Shape: append(append(ir.Shape{}, shape...), count)}
				for i := range rank {
					a.Axes = append(a.Axes, i)
				}
				if shape[rank-1] == 1 { // the operand has the axis
					a.Shape = append(append(ir.Shape{}, shape[:rank-1]...), count)
				}
				g := tape{p: &ir.Program{}}
				g.p.AddOutput("y", g.op(ir.Broadcast, a, g.input("x", d, shape...)))
				s := newSession(t, g.p)
				x, y := s.inputs[0].Bytes(), s.outputs[0].Bytes()
				for i := range x {
					x[i] = byte(7*i ^ i>>8)
				}
				s.run(t)
				size := d.Size()
				var want []byte
				for i := 0; i < len(x); i += size {
					for range count {
						want = append(want, x[i:i+size]...)
					}
				}
				require.Equal(t, want, y, fmt.Sprint(d, count, shape))
			}
		}
	}
}
