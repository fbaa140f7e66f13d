package cpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// TestBiasOfSeveralAxes: a product whose matrix has several axes of columns, such as the heads of an attention, adds
// its bias itself.
func TestBiasOfSeveralAxes(t *testing.T) {
	for _, c := range []struct {
		bias, axes []int
		steps      int
	}{
		{[]int{3, 7}, []int{2, 3}, 1},
		{[]int{7}, []int{3}, 2},             // the same for all heads
		{[]int{3, 1}, []int{2, 3}, 2},       // one number for each head
		{[]int{5, 3, 7}, []int{1, 2, 3}, 2}, // another one for each step
	} {
		g := graphBuilder{t, ir.New("heads")}
		x, w, bias := g.p.AddInput("x", single(2, 5, 20)), g.p.AddInput("w", single(20, 3, 7)), g.p.AddInput("bias", single(c.bias...))
		y := g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, x, w)
		g.p.AddOutput("y", g.one(ir.Add, nil, y, g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{2, 5, 3, 7}, Axes: c.axes}, bias)))
		e, err := Backend{}.load(g.p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		assert.Equal(t, c.steps, e.Stats().Steps, "bias %v along %v", c.bias, c.axes)
		e.Close()
		inputs := randomInputs(t, g.p)
		require.NoError(t, kernelstest.Compare(runOnce(t, g.p, inputs, false)[0], runOnce(t, g.p, inputs, true)[0], 64, true))
	}
}
