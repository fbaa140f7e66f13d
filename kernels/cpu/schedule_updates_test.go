package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestUpdatesRunEarly: a variable is updated as soon as its gradient exists and nothing needs the old value.
func TestUpdatesRunEarly(t *testing.T) {
	p := ir.New("")
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{8}}
	x, w0, w1, w2 := p.AddInput("x", typ), p.AddInput("w0", typ), p.AddInput("w1", typ), p.AddInput("w2", typ)
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, a, in...)
		require.NoError(t, err)
		return out[0]
	}
	sum := func(v ir.Value) ir.Value { return add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum}, v) }
	d2 := sum(x)                        // 0
	d1 := sum(d2)                       // 1
	d0 := sum(add(ir.Mul, nil, d1, w2)) // 2, 3: the last reader of w2
	p.AddAlias("w0", add(ir.Sub, nil, w0, d0), 1)
	p.AddAlias("w1", add(ir.Sub, nil, w1, d1), 2)
	p.AddAlias("w2", add(ir.Sub, nil, w2, d2), 3)
	g := fuse.NewGraph(p)
	g.Group()
	g.ScheduleUpdates()
	var order []int
	for _, u := range g.Units {
		order = append(order, u.Nodes...)
	}
	require.Equal(t, []int{0, 1, 5, 2, 6, 3, 4}, order)
	require.Empty(t, plan.Place(g, true).Copies, "every update is made in place")
}

// TestCounterMovesWithUpdates: the step that increments the counter, which all updates read, does not hold them back
// until the end. If a step that may fail comes after it, it stays where it is.
func TestCounterMovesWithUpdates(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{1024}}
	one := ir.Type{DType: ir.Float32, Shape: ir.Shape{1}}
	build := func(collective bool) [][]int {
		p := ir.New("")
		x, w0, w1, n := p.AddInput("x", typ), p.AddInput("w0", typ), p.AddInput("w1", typ), p.AddInput("n", one)
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return out[0]
		}
		sum := func(v ir.Value) ir.Value { return add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum}, v) }
		d1 := sum(x)                        // 0
		d0 := sum(add(ir.Mul, nil, d1, w1)) // 1, 2
		next := add(ir.Add, nil, n, n)      // 3
		scale := add(ir.Neg, nil, next)     // 4
		if collective {
			scale = add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, scale) // 5
		}
		spread := func() ir.Value { return add(ir.Broadcast, ir.BroadcastAttrs{Shape: typ.Shape, Axes: []int{0}}, scale) }
		u1 := add(ir.Sub, nil, w1, add(ir.Mul, nil, d1, spread()))
		u0 := add(ir.Sub, nil, w0, add(ir.Mul, nil, d0, spread()))
		p.AddAlias("w0", u0, 1)
		p.AddAlias("w1", u1, 2)
		p.AddAlias("n", next, 3)
		require.NoError(t, p.Verify())
		g := fuse.NewGraph(p)
		g.Group()
		g.ScheduleUpdates()
		var order [][]int
		for _, u := range g.Units {
			order = append(order, u.Nodes)
		}
		return order
	}
	require.Equal(t, [][]int{{3, 4}, {0}, {1}, {6, 7}, {2}, {9, 10}}, build(false))
	require.Equal(t, [][]int{{0}, {1}, {2}, {3, 4}, {5}, {10, 11}, {7, 8}}, build(true))
}
