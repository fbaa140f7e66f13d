package lower_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A product that occurs twice, once after a pair of transposes, is one kernel; all-reduces of a bucket are one
// collective.
func TestGeneralPasses(t *testing.T) {
	p := ir.New("p")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 8}}
	x, w := p.AddInput("x", typ), p.AddInput("w", typ)
	turn := ir.TransposeAttrs{Perm: []int{1, 0}}
	product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	for range 2 {
		p.AddOutput("y", add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: 1}, add(ir.Dot, product, x, w)))
		x = add(ir.Transpose, turn, add(ir.Transpose, turn, x))
	}
	plan, err := lower.Program(p, lower.Options{Replicas: 2})
	require.NoError(t, err)
	require.Equal(t, 1, plan.Collects)
	require.Equal(t, 1, plan.Launches)
}

// A kernel overwrites a variable in place if it runs after everything that may fail and everything that reads the old
// value, and reads only the elements that it replaces. Otherwise the new value is stored in the arena and copied at the
// end.
func TestUpdatesInPlace(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 8}}
	product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	type adder func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value
	for name, c := range map[string]struct {
		launches int
		arena    int64
		build    func(p *ir.Program, add adder, x, w ir.Value)
	}{
		"elementwise": {1, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, w, x), 1)
		}},
		"with its product": {1, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, w, add(ir.Dot, product, x, x)), 1)
		}},
		"and the new one, in the same place": {2, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			next := add(ir.Sub, nil, w, x)
			p.AddAlias("w", next, 1)
			p.AddOutput("y", add(ir.Tanh, nil, next))
		}},
		"and the new one elsewhere": {2, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			next := add(ir.Sub, nil, w, x)
			p.AddAlias("w", next, 1)
			p.AddOutput("y", add(ir.Add, nil, x, add(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, next)))
		}},
		"two, the second from the first elsewhere": {2, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			next := add(ir.Sub, nil, w, x)
			p.AddAlias("w", next, 1)
			p.AddAlias("x", add(ir.Sub, nil, x, add(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, next)), 0)
		}},
		"two, the first from the old second elsewhere": {2, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("x", add(ir.Sub, nil, x, add(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, w)), 0)
			p.AddAlias("w", add(ir.Neg, nil, w), 1)
		}},
		"two, in the same places": {1, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			next := add(ir.Sub, nil, w, x)
			p.AddAlias("w", next, 1)
			p.AddAlias("x", add(ir.Sub, nil, x, next), 0)
		}},
		"after the last reader": {2, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, w, x), 1)
			p.AddOutput("y", add(ir.Tanh, nil, add(ir.Dot, product, x, w)))
		}},
		"after the check": {2, 0, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, w, x), 1)
			p.AddOutput("y", add(ir.CheckFinite, ir.CheckFiniteAttrs{}, x))
		}},
		"needed before the check": {5, 512, func(p *ir.Program, add adder, x, w ir.Value) {
			next := add(ir.Sub, nil, w, x)
			p.AddAlias("w", next, 1)
			p.AddOutput("y", add(ir.CheckFinite, ir.CheckFiniteAttrs{}, add(ir.Dot, product, next, x)))
		}},
		"reads elsewhere": {2, 256, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, x, add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, w)), 1)
		}},
		"product of itself": {2, 256, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, w, add(ir.Dot, product, x, w)), 1)
		}},
		"the old value is a result": {3, 256, func(p *ir.Program, add adder, x, w ir.Value) {
			p.AddAlias("w", add(ir.Sub, nil, w, x), 1)
			p.AddOutput("old", w)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := ir.New("p")
			add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
				out, err := p.Add("layer", op, attrs, in...)
				require.NoError(t, err)
				return out[0]
			}
			c.build(p, add, p.AddInput("x", typ), p.AddInput("w", typ))
			plan, err := lower.Program(p, lower.Options{})
			require.NoError(t, err)
			require.Equal(t, c.launches, plan.Launches)
			require.Equal(t, c.arena, plan.ArenaBytes)
		})
	}
}

// The updates of many variables take few launches.
func TestUpdatesTogether(t *testing.T) {
	p := ir.New("adam")
	number := ir.Type{DType: ir.Float32}
	rate, step := p.AddInput("rate", number), p.AddInput("step", number)
	for i := range 160 {
		typ, first := ir.Type{DType: ir.Float32, Shape: ir.Shape{100 + i*37}}, len(p.Inputs)
		w, g, m, v := p.AddInput("w", typ), p.AddInput("g", typ), p.AddInput("m", typ), p.AddInput("v", typ)
		out, err := p.Add("adam", ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "adam", Values: []float64{0.9, 0.999, 1e-7}}, w, g, rate, step, m, v)
		require.NoError(t, err)
		for j, at := range []int{0, 2, 3} {
			p.AddAlias("new", out[j], first+at)
		}
	}
	plan, err := lower.Program(p, lower.Options{})
	require.NoError(t, err)
	require.LessOrEqual(t, plan.Launches, 5)
	for _, s := range plan.Steps {
		require.LessOrEqual(t, len(s.Args), 512)
	}
}
