package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// doubled is the identity with a gradient of twice its own.
func doubled(x *ops.Tensor) *ops.Tensor {
	return ops.CustomGradient(func(xs ...*ops.Tensor) (tensors, func(tensors) tensors) {
		return xs, func(dys tensors) tensors { return tensors{ops.MultiplyScalar(dys[0], 2)} }
	}, x)[0]
}

func gradients(f func(in tensors) *ops.Tensor) opstest.Func {
	return func(_ *ops.Graph, in tensors) tensors {
		grads := ops.Grad(f(in), in...)
		for i, grad := range grads {
			if grad == nil {
				grads[i] = ops.FullLike(in[i], -99)
			}
		}
		return grads
	}
}

func TestGradientEngine(t *testing.T) {
	a, b := opstest.Scalar(3), opstest.Scalar(5)
	tests := []struct {
		name string
		f    func(in tensors) *ops.Tensor
		want [2]float64 // -99 for none
	}{
		{"of itself", func(in tensors) *ops.Tensor { return in[0] }, [2]float64{1, -99}},
		{"shared", func(in tensors) *ops.Tensor {
			s := ops.Multiply(in[0], in[1])
			return ops.Add(ops.Square(s), s)
		}, [2]float64{155, 93}},
		{"stopped", func(in tensors) *ops.Tensor { return ops.Multiply(in[0], ops.StopGradient(in[0])) }, [2]float64{3, -99}},
		{"stopped altogether", func(in tensors) *ops.Tensor { return ops.StopGradient(ops.Multiply(in[0], in[1])) }, [2]float64{-99, -99}},
		{"through integers", func(in tensors) *ops.Tensor {
			return ops.Multiply(ops.Cast(ops.Cast(in[0], ir.Int32), ir.Float64), in[1])
		}, [2]float64{-99, 3}},
		{"custom", func(in tensors) *ops.Tensor { return ops.Multiply(doubled(in[0]), in[1]) }, [2]float64{10, 3}},
		{"custom twice", func(in tensors) *ops.Tensor { return ops.Multiply(doubled(doubled(in[0])), in[1]) }, [2]float64{20, 3}},
		{"custom in a branch", func(in tensors) *ops.Tensor {
			return ops.Cond(ops.CompareScalar(ir.Gt, in[1], 0), func() tensors { return tensors{ops.Square(doubled(in[0]))} }, func() tensors { return in[:1] })[0]
		}, [2]float64{12, -99}},
		{"stopped in a branch", func(in tensors) *ops.Tensor {
			return ops.Cond(ops.CompareScalar(ir.Gt, in[1], 0), func() tensors { return tensors{ops.Multiply(in[0], ops.StopGradient(in[0]))} }, func() tensors { return in[:1] })[0]
		}, [2]float64{3, -99}},
		{"custom in a scan", func(in tensors) *ops.Tensor {
			final, _ := ops.Scan(func(carry, _ tensors) (tensors, tensors) {
				return tensors{ops.Add(doubled(carry[0]), ops.StopGradient(in[1]))}, nil
			}, tensors{in[0]}, nil, ops.ScanOptions{Length: 3})
			return final[0]
		}, [2]float64{8, -99}},
		{"custom in a branch in a scan", func(in tensors) *ops.Tensor {
			final, _ := ops.Scan(func(carry, _ tensors) (tensors, tensors) {
				return ops.Cond(ops.CompareScalar(ir.Gt, in[1], 0), func() tensors { return tensors{doubled(carry[0])} }, func() tensors { return carry }), nil
			}, tensors{in[0]}, nil, ops.ScanOptions{Length: 3})
			return final[0]
		}, [2]float64{8, -99}},
		{"operand used twice by one op", func(in tensors) *ops.Tensor { return ops.Matmul(ops.Reshape(in[0], 1), ops.Reshape(in[0], 1)) }, [2]float64{6, -99}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := opstest.Eval(t, gradients(test.f), a, b)
			require.Equal(t, test.want, [2]float64{out[0].F[0], out[1].F[0]})
		})
	}
}

// A stopped gradient stays stopped when the gradient is differentiated, also in loops and branches.
func TestStopGradientInSecondGradients(t *testing.T) {
	half := func(x *ops.Tensor) *ops.Tensor { return ops.Multiply(ops.Square(x), ops.StopGradient(x)) } // x²·c: 2cx, then 2c
	tests := map[string]func(x *ops.Tensor) *ops.Tensor{
		"plain": half,
		"in a scan": func(x *ops.Tensor) *ops.Tensor {
			_, ys := ops.Scan(func(_, xs tensors) (tensors, tensors) { return nil, tensors{half(xs[0])} }, nil, tensors{ops.Reshape(x, 1)}, ops.ScanOptions{})
			return ys[0]
		},
		"in a branch": func(x *ops.Tensor) *ops.Tensor {
			return ops.Cond(ops.CompareScalar(ir.Gt, x, 0), func() tensors { return tensors{half(x)} }, func() tensors { return tensors{x} })[0]
		},
	}
	for name, f := range tests {
		out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
			first := ops.Grad(f(in[0]), in[0])[0]
			return tensors{first, ops.Grad(first, in[0])[0]}
		}, opstest.Scalar(3))
		require.Equal(t, []float64{18}, out[0].F, name)
		require.Equal(t, []float64{6}, out[1].F, name)
	}
}

func TestCustomGradientOfSeveralResults(t *testing.T) {
	// (x, w) -> (x·w, x+w) with the gradients (10·da + 100·db, nil).
	f := func(in tensors) tensors {
		return ops.CustomGradient(func(xs ...*ops.Tensor) (tensors, func(tensors) tensors) {
			return tensors{ops.Multiply(xs[0], xs[1]), ops.Add(xs[0], xs[1])}, func(dys tensors) tensors {
				return tensors{ops.Add(ops.MultiplyScalar(dys[0], 10), ops.MultiplyScalar(dys[1], 100)), nil}
			}
		}, in...)
	}
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		ys := f(in)
		both := ops.Grad(ops.Add(ys[0], ops.MultiplyScalar(ys[1], 3)), in...)
		require.Nil(t, both[1])
		return tensors{ys[0], ys[1], both[0], ops.Grad(ys[0], in[0])[0], ops.Grad(ys[1], in[0])[0]}
	}, opstest.Scalar(3), opstest.Scalar(5))
	for i, want := range []float64{15, 8, 310, 10, 100} {
		require.Equal(t, want, out[i].F[0], "%d", i)
	}
	err := opstest.EvalError(func(_ *ops.Graph, in tensors) tensors {
		return ops.Grad(ops.CustomGradient(func(xs ...*ops.Tensor) (tensors, func(tensors) tensors) {
			return xs, func(dys tensors) tensors { return nil }
		}, in...)[0], in...)
	}, opstest.Scalar(3))
	require.ErrorContains(t, err, "returned 0 gradients for 1 inputs")
}

// Gradients with respect to an intermediate value and to what it depends on are both total derivatives.
func TestGradientOfDependentSources(t *testing.T) {
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		y := ops.Square(in[0])
		return ops.Grad(ops.Multiply(y, in[0]), in[0], y)
	}, opstest.Scalar(3))
	require.Equal(t, []float64{27}, out[0].F)
	require.Equal(t, []float64{3}, out[1].F)
}

// The decomposition of a composite must not attribute one operand's gradient to another: here v depends on q.
func TestDecomposedGradientOfDependentOperands(t *testing.T) {
	opstest.CheckSecondGradients(t, func(_ *ops.Graph, in tensors) tensors {
		q := in[0]
		return tensors{ops.Attention(q, q, ops.Square(q), nil, 0.7, true)}
	}, opstest.Normal(1, 1, 3, 1, 2))
}

func TestVJP(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		targets := tensors{ops.Square(in[0]), ops.Cast(in[0], ir.Int32), ops.Exp(in[0]), ops.MultiplyScalar(in[0], 3)}
		cotangents := tensors{in[1], ops.Ones(g, ir.Int32, 2), nil, in[1]}
		return ops.VJP(targets, cotangents, in[0])
	}, opstest.Floats([]int{2}, 1, 2), opstest.Floats([]int{2}, 10, 100))
	require.Equal(t, []float64{50, 700}, out[0].F)
	require.Empty(t, ops.VJP(nil, nil))
	x := opstest.Normal(1, 2)
	err := opstest.EvalError(func(_ *ops.Graph, in tensors) tensors { return ops.VJP(in, tensors{ops.Sum(in[0])}, in[0]) }, x)
	require.ErrorContains(t, err, "the cotangent of target 0 has type float64[]; it must have the target's, float64[2]")
	err = opstest.EvalError(func(_ *ops.Graph, in tensors) tensors { return ops.VJP(in, nil, in[0]) }, x)
	require.ErrorContains(t, err, "1 targets need as many cotangents")
}

func TestTape(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		tape := ops.NewTape(g)
		grads := tape.Gradients(ops.Sum(ops.Square(in[0])), in[0])
		require.Same(t, in[0], grads.Of)
		return grads.Values
	}, opstest.Floats([]int{2}, 1, 2))
	require.Equal(t, []float64{2, 4}, out[0].F)
}

// Nodes that no gradient needs are not created.
func TestGradientIsNotBuiltForNothing(t *testing.T) {
	g := ops.NewGraph("test")
	x, w := g.Input("x", ir.Float32, 8, 8), g.Input("w", ir.Float32, 8, 8)
	y := ops.Matmul(x, w)
	before := len(g.Program().Nodes)
	ops.VJP(tensors{y}, tensors{x}, w)
	require.LessOrEqual(t, len(g.Program().Nodes)-before, 2, "one product, perhaps transposed") // not the gradient of x
}
