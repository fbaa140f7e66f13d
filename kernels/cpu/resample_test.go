package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestResampling compares weighted sums of cells along any axis with the definition: many lines of few channels, few
// lines, cells that fill vectors, and any number of taps.
func TestResampling(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 60))
	for range 150 {
		shape := ir.Shape{1 + r.IntN(40), 1 + r.IntN(30), []int{1, 2, 3, 4, 7, 16, 33}[r.IntN(7)]}
		a := ir.ResampleAttrs{Axis: r.IntN(3), Taps: 1 + r.IntN(7)}
		length, n := 1+r.IntN(40), shape[a.Axis]
		for i := range length * a.Taps {
			a.Cells = append(a.Cells, min(i/a.Taps*n/length+i%a.Taps, n-1))
			a.Weights = append(a.Weights, r.NormFloat64())
		}
		g := tape{p: &ir.Program{}}
		g.p.AddOutput("y", g.op(ir.Resample, a, g.input("x", ir.Float32, shape...)))
		s := newSession(t, g.p)
		x, y := floatsOf(s.inputs[0]), floatsOf(s.outputs[0])
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		s.run(t)
		inner := shape[a.Axis+1:].Size()
		for i, v := range y {
			line, cell := i/inner/length*n, i/inner%length
			want, size := 0.0, 0.0
			for k := cell * a.Taps; k < (cell+1)*a.Taps; k++ {
				term := a.Weights[k] * float64(x[(line+a.Cells[k])*inner+i%inner])
				want, size = want+term, size+math.Abs(term)
			}
			require.InDelta(t, want, v, 1e-6*(size+1e-3), fmt.Sprintf("%v axis %d to %d from %d taps, element %d", shape, a.Axis, length, a.Taps, i))
		}
	}
}
