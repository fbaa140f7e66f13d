package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestSmallUpdatesAreJoined: updates of small variables by the same rule form one unit, which computes all of them in
// place.
func TestSmallUpdatesAreJoined(t *testing.T) {
	p := ir.New("")
	scalar := ir.Type{DType: ir.Float32}
	x, rate, step := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{8}}), p.AddInput("rate", scalar), p.AddInput("step", scalar)
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) []ir.Value {
		out, err := p.Add("", op, a, in...)
		require.NoError(t, err)
		return out
	}
	inputs := 3
	variable := func(rule string, size int) {
		typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{size, 8}}
		in := []ir.Value{p.AddInput("w", typ), add(ir.Broadcast, ir.BroadcastAttrs{Shape: typ.Shape, Axes: []int{1}}, x)[0], rate, step}
		in[1] = add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum, Axis: 1}, in[1])[0]
		a := ir.OptimizerAttrs{Rule: rule, Values: []float64{0.9}}
		in = append(in, p.AddInput("m", typ))
		if rule == "adam" {
			a.Values = []float64{0.9, 0.999, 1e-7}
			in = append(in, p.AddInput("v", typ))
		}
		for i, out := range add(ir.OptimizerUpdate, a, in...) {
			p.AddAlias("", out, inputs+i)
		}
		inputs += len(in) - 3
	}
	variable("adam", 1)
	variable("adam", 100)
	variable("momentum", 5)
	variable("adam", fuse.BucketVariable/8+1)
	variable("adam", 7)
	w, m, v := p.AddInput("w", scalar), p.AddInput("m", scalar), p.AddInput("v", scalar)
	constrained := add(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "adam", Values: []float64{0.9, 0.999, 1e-7}}, w, rate, rate, step, m, v)
	for i, out := range []ir.Value{add(ir.Abs, nil, constrained[0])[0], constrained[1], constrained[2]} {
		p.AddAlias("", out, inputs+i)
	}
	inputs += 3
	for range fuse.BucketTotal / fuse.BucketVariable {
		variable("momentum", fuse.BucketVariable/8)
	}
	g := fuse.NewGraph(p)
	g.Group()
	g.ScheduleUpdates()
	g.BucketUpdates()
	var joined []int
	for _, u := range g.Units {
		if p.Nodes[u.Nodes[0]].Op == ir.OptimizerUpdate {
			joined = append(joined, len(u.Nodes))
		}
	}
	require.Equal(t, []int{1, 1, 3, fuse.BucketTotal / fuse.BucketVariable, 1}, joined, "a constraint waits for one update")
	require.Empty(t, plan.Place(g, true).Copies, "every update is made in place")
}
