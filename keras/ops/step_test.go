package ops_test

import (
	"testing"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	n := opstest.Normal
	cells := []struct {
		cell          string
		gates, states int
		bias, masked  bool
	}{
		{"simple", 1, 1, false, false}, {"lstm", 4, 2, false, true}, {"gru", 3, 1, true, false}, {"gru_reset_before", 3, 1, false, true},
	}
	const batch, steps, units = 2, 3, 2
	for _, c := range cells {
		fn := func(_ *ops.Graph, in tensors) tensors {
			x, u, rest := in[0], in[1], in[2:]
			var bias, mask *ops.Tensor
			if c.bias {
				bias, rest = rest[0], rest[1:]
			}
			if c.masked {
				mask = rest[c.states]
			}
			attrs := ir.RnnAttrs{Cell: c.cell, Activation: "tanh", RecurrentActivation: "sigmoid", Reverse: c.masked}
			ys, last := ops.RnnScan(attrs, x, u, bias, rest[:c.states], mask)
			return append(last, ys)
		}
		in := []opstest.Array{n(1, batch, steps, c.gates*units), n(2, units, c.gates*units)}
		if c.bias {
			in = append(in, n(3, c.gates*units))
		}
		for i := range c.states {
			in = append(in, n(4+i, batch, units))
		}
		if c.masked {
			in = append(in, opstest.Bools([]int{batch, steps}, 1, 0, 1, 1, 1, 0))
		}
		addCase("rnn "+c.cell, true, fn, in...)
	}

	rules := []struct {
		rule   string
		values []float64
		slots  int
	}{{"sgd", nil, 0}, {"momentum", []float64{0.9}, 1}, {"nesterov", []float64{0.9}, 1}, {"adam", []float64{0.9, 0.99, 0.1}, 2}}
	for _, r := range rules {
		in := []opstest.Array{n(1, 3), n(2, 3), opstest.Scalar(0.3), opstest.Scalar(2)}
		for i := range r.slots {
			in = append(in, opstest.Random(9+i, 0.5, 1, 3))
		}
		addCase("optimizer "+r.rule, true, func(_ *ops.Graph, in tensors) tensors {
			w, slots := ops.OptimizerUpdate(r.rule, r.values, in[0], in[1], in[2], in[3], in[4:]...)
			return append(slots, w)
		}, in...)
	}
}

func TestOptimizerUpdate(t *testing.T) {
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		w, slots := ops.OptimizerUpdate("momentum", []float64{0.5}, in[0], in[1], in[2], in[3], in[4])
		return append(slots, w)
	}, opstest.Scalar(1), opstest.Scalar(10), opstest.Scalar(0.1), opstest.Scalar(1), opstest.Scalar(4))
	opstest.Near(t, "momentum", out[0], opstest.Scalar(1), 1e-15, 0)
	opstest.Near(t, "weights", out[1], opstest.Scalar(2), 1e-15, 0)
}
