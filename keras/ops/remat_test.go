package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	addCase("remat", true, func(_ *ops.Graph, in tensors) tensors {
		return ops.Remat(func(xs ...*ops.Tensor) []*ops.Tensor { return tensors{ops.Sin(ops.Multiply(ops.Tanh(xs[0]), xs[1]))} }, in...)
	}, opstest.Normal(1, 3), opstest.Normal(2, 3))
}

// narrowed is a product of x and wide matrices with large intermediate values, which remat recomputes.
func narrowed(x *ops.Tensor, matrices []*ops.Tensor, remat bool) *ops.Tensor {
	for i := 0; i < len(matrices); i += 2 {
		f := func(xs ...*ops.Tensor) []*ops.Tensor {
			h := ops.Dropout(ops.Gelu(ops.Matmul(xs[0], matrices[i]), false), 0.1, uint64(i))
			return tensors{ops.Tanh(ops.Matmul(ops.Sin(h), matrices[i+1]))}
		}
		if remat {
			x = ops.Remat(f, x)[0]
		} else {
			x = f(x)[0]
		}
	}
	return x
}

// TestRematNeedsLessMemory: what is recomputed has the same bits, dropout included, and is not kept in between.
func TestRematNeedsLessMemory(t *testing.T) {
	backend, err := kernels.Lookup("cpu")
	require.NoError(t, err)
	const layers = 8
	shapes := []opstest.Array{opstest.Normal(1, 64, 8)}
	for i := range layers {
		shapes = append(shapes, opstest.Normal(10+i, 8, 512), opstest.Normal(30+i, 512, 8))
	}
	trace := func(remat bool) opstest.Func {
		return func(g *ops.Graph, in tensors) tensors {
			g.SetRandom(func() *ops.Tensor { return ops.Constant(g, ir.Uint32, []int{4}, []float64{1, 2, 3, 4}) })
			return ops.Grad(ops.Sum(narrowed(in[0], in[1:], remat)), in...)
		}
	}
	require.Equal(t, opstest.EvalOn(t, "cpu", trace(false), shapes...), opstest.EvalOn(t, "cpu", trace(true), shapes...))
	arena := func(remat bool) int64 {
		g := ops.NewGraph("step")
		in := tensors{}
		for _, a := range shapes {
			in = append(in, g.Input("x", ir.Float32, a.Shape...))
		}
		for _, y := range trace(remat)(g, in) {
			g.Program().AddOutput("y", y.Value())
		}
		e, err := backend.Compile(g.Program(), kernels.CompileOptions{Device: kernels.Device{Kind: "cpu"}})
		require.NoError(t, err)
		return e.Stats().ArenaBytes
	}
	require.Less(t, 3*arena(true), arena(false))
}

// TestRematComputesOnce: each segment has its own barriers and copies, also of what is not computed from tensors that
// have gradients. Nested segments, loops and what no gradient needs are not recomputed more than once.
func TestRematComputesOnce(t *testing.T) {
	remat := func(f func(x *ops.Tensor) *ops.Tensor, x *ops.Tensor) *ops.Tensor {
		return ops.Remat(func(xs ...*ops.Tensor) []*ops.Tensor { return tensors{f(xs[0])} }, x)[0]
	}
	tanh := func(x *ops.Tensor) *ops.Tensor { return ops.Tanh(x) }
	loop := func(x *ops.Tensor) *ops.Tensor {
		final, _ := ops.Scan(func(carry, _ tensors) (next, ys tensors) { return tensors{ops.Sin(carry[0])}, nil }, tensors{x}, nil, ops.ScanOptions{Length: 3})
		return ops.Tanh(final[0])
	}
	for name, c := range map[string]struct {
		f                      func(x *ops.Tensor) *ops.Tensor
		tanhs, barriers, scans int
	}{
		"one": {func(x *ops.Tensor) *ops.Tensor { return remat(tanh, ops.Sin(x)) }, 2, 1, 0},
		"nested": {func(x *ops.Tensor) *ops.Tensor {
			return remat(func(x *ops.Tensor) *ops.Tensor { return ops.Cos(remat(tanh, ops.Exp(x))) }, ops.Sin(x))
		}, 2, 1, 0},
		"one by one":    {func(x *ops.Tensor) *ops.Tensor { return remat(tanh, remat(tanh, ops.Sin(x))) }, 4, 2, 0},
		"of one tensor": {func(x *ops.Tensor) *ops.Tensor { x = ops.Sin(x); return ops.Add(remat(tanh, x), remat(tanh, x)) }, 4, 2, 0},
		"of an input":   {func(x *ops.Tensor) *ops.Tensor { return remat(tanh, x) }, 2, 1, 0},
		"a loop":        {func(x *ops.Tensor) *ops.Tensor { return remat(loop, x) }, 2, 1, 2},
		"no gradient":   {func(x *ops.Tensor) *ops.Tensor { return ops.Multiply(x, ops.StopGradient(remat(tanh, x))) }, 1, 0, 0},
	} {
		g := ops.NewGraph(name)
		x := g.Input("x", ir.Float32, 4)
		ops.Grad(ops.Sum(c.f(x)), x)
		found := map[ir.Op]int{}
		for _, n := range g.Program().Nodes {
			found[n.Op]++
		}
		require.Equal(t, []int{c.tanhs, c.barriers, c.scans}, []int{found[ir.Tanh], found[ir.Barrier], found[ir.Scan]}, name)
	}
}

// TestRematKeepsCustomGradients: derivatives of gradients also use the custom rule of a result in a segment, which here
// gives 3x for x².
func TestRematKeepsCustomGradients(t *testing.T) {
	f := func(xs ...*ops.Tensor) []*ops.Tensor {
		y := ops.CustomGradient(func(xs ...*ops.Tensor) (tensors, func(tensors) tensors) {
			return tensors{ops.Square(xs[0])}, func(dys tensors) tensors { return tensors{ops.Multiply(dys[0], ops.MultiplyScalar(xs[0], 3))} }
		}, ops.Sin(xs[0]))[0]
		return tensors{ops.Tanh(y)}
	}
	second := func(f func(xs ...*ops.Tensor) []*ops.Tensor) opstest.Func {
		return func(_ *ops.Graph, in tensors) tensors {
			d := ops.Grad(ops.Sum(f(in[0])[0]), in[0])[0]
			return tensors{d, ops.Grad(ops.Sum(ops.Square(d)), in[0])[0]}
		}
	}
	remat := func(xs ...*ops.Tensor) []*ops.Tensor { return ops.Remat(f, xs...) }
	x := opstest.Normal(1, 5)
	require.Equal(t, opstest.EvalOn(t, "cpu", second(f), x), opstest.EvalOn(t, "cpu", second(remat), x))
}

func TestRematIsRefused(t *testing.T) {
	for _, f := range []func(){func() { ops.Remat(nil, nil) }, func() { ops.Remat(func(xs ...*ops.Tensor) []*ops.Tensor { return xs }) }} {
		var err error
		func() {
			defer ops.Catch(&err)
			f()
		}()
		require.ErrorContains(t, err, "remat: needs a function that is not nil and at least one tensor")
	}
}
