package ops_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestGraphPaths(t *testing.T) {
	g := ops.NewGraph("model")
	x := g.Input("x", ir.Float32, 2)
	g.InScope("outer", func() {
		g.InScope("inner", func() { ops.Exp(x) })
		ops.Cond(ops.CompareScalar(ir.Gt, ops.Sum(x), 0), func() []*ops.Tensor {
			var y *ops.Tensor
			g.InScope("branch", func() { y = ops.Log(x) })
			require.Equal(t, "outer", g.Path())
			return []*ops.Tensor{y}
		}, func() []*ops.Tensor { return []*ops.Tensor{x} })
	})
	require.Empty(t, g.Path())
	paths := map[ir.Op]string{}
	var note func(p *ir.Program)
	note = func(p *ir.Program) {
		for _, n := range p.Nodes {
			paths[n.Op] = n.Scope
			for _, sub := range ir.SubPrograms(n.Attrs) {
				note(sub)
			}
		}
	}
	note(g.Program())
	require.Equal(t, "outer/inner", paths[ir.Exp])
	require.Equal(t, "outer", paths[ir.Cond])
	require.Equal(t, "outer/branch", paths[ir.Log])
}

// A gradient node has the path of the node it belongs to, so that errors at run time name the layer.
func TestGradientPaths(t *testing.T) {
	g := ops.NewGraph("model")
	x, i := g.Input("x", ir.Float32, 4), g.Input("i", ir.Int32, 2)
	var y *ops.Tensor
	g.InScope("lookup", func() { y = ops.Take(x, i, 0) })
	g.InScope("loss", func() { ops.Grad(ops.Square(y), x) })
	for _, n := range g.Program().Nodes {
		if n.Op == ir.Scatter {
			require.Equal(t, "lookup", n.Scope)
			return
		}
	}
	t.Fatal("no scatter")
}

func TestErrors(t *testing.T) {
	cause := errors.New("cause")
	build := func(f func(g *ops.Graph)) (err error) {
		defer ops.Catch(&err)
		f(ops.NewGraph("model"))
		return nil
	}
	require.NoError(t, build(func(*ops.Graph) {}))
	err := build(func(g *ops.Graph) { g.InScope("a", func() { g.InScope("b", func() { ops.Fail(g, cause) }) }) })
	require.EqualError(t, err, "a/b: cause")
	require.ErrorIs(t, err, cause)
	// An error that has a path keeps it.
	again := build(func(g *ops.Graph) { g.InScope("c", func() { ops.Fail(g, err) }) })
	require.EqualError(t, again, "a/b: cause")
	require.EqualError(t, build(func(*ops.Graph) { ops.Failf(nil, "no %s", "graph") }), "no graph")
	require.PanicsWithValue(t, "a bug", func() { _ = build(func(*ops.Graph) { panic("a bug") }) })
}

func TestTensorsOfOtherGraphs(t *testing.T) {
	build := func() (err error) {
		defer ops.Catch(&err)
		a, b := ops.NewGraph("a"), ops.NewGraph("b")
		ops.Add(a.Input("x", ir.Float32), b.Input("x", ir.Float32))
		return nil
	}
	require.ErrorContains(t, build(), `a tensor of graph "b" was used in graph "a"`)
}

func TestMasksTravel(t *testing.T) {
	g := ops.NewGraph("model")
	x, mask := g.Input("x", ir.Float32, 2, 3), g.Input("mask", ir.Bool, 2)
	x = x.WithMask(mask)
	for _, y := range []*ops.Tensor{ops.Relu(x), ops.MultiplyScalar(x, 2), ops.Softmax(x, -1), ops.Gelu(x, false), ops.Cast(x, ir.Float16), ops.StopGradient(x), ops.Dropout(x, 0, 1)} {
		require.Same(t, mask, y.Mask())
	}
	require.Nil(t, ops.Add(x, x).Mask())
	require.Nil(t, x.WithMask(nil).Mask())
}
