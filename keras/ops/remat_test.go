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

// narrowed is a product of x and wide matrices with large values between them, which remat computes again.
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

// TestRematNeedsLessMemory: what is computed again has the same bits, dropout included, and is not kept meanwhile.
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
