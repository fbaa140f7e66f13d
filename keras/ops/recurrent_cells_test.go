package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	cell := func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		h, next := ops.LSTMCell(in[0], in[1])
		return []*ops.Tensor{h, next}
	}
	addCase("lstm_cell", true, cell, opstest.Normal(1, 3, 8), opstest.Normal(2, 3, 2))
	addCase("lstm_cell h", true, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return cell(g, in)[:1] }, opstest.Normal(3, 2, 3, 4), opstest.Normal(4, 2, 3, 1))
	addCase("lstm_cell carry", true, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return cell(g, in)[1:] }, opstest.Normal(5, 12), opstest.Normal(6, 3))
	gru := func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.GRUCell(in[0], in[1], in[2])}
	}
	addCase("gru_cell", true, gru, opstest.Normal(7, 3, 6), opstest.Normal(8, 3, 6), opstest.Normal(9, 3, 2))
	addCase("gru_cell of one unit", true, gru, opstest.Normal(7, 3), opstest.Normal(8, 3), opstest.Normal(9, 1))
}

func TestLSTMCellShapes(t *testing.T) {
	for _, c := range []struct{ z, carry ir.Shape }{{ir.Shape{3, 8}, ir.Shape{3, 3}}, {ir.Shape{2, 8}, ir.Shape{3, 2}}, {ir.Shape{8}, ir.Shape{}}} {
		require.Panics(t, func() {
			g := ops.NewGraph("test")
			ops.LSTMCell(g.Input("z", ir.Float32, c.z...), g.Input("c", ir.Float32, c.carry...))
		}, fmt.Sprint(c))
	}
}
