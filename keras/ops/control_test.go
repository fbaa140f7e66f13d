package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

type tensors = []*ops.Tensor

// rnn is a small recurrent net: h' = tanh(x·w + h·u), y = h'·b, with w captured, u captured and b captured.
func rnn(o ops.ScanOptions) opstest.Func {
	return func(g *ops.Graph, in tensors) tensors {
		x, h, w, u, b := in[0], in[1], in[2], in[3], in[4]
		final, ys := ops.Scan(func(carry, xs tensors) (next, ys tensors) {
			h := ops.Tanh(ops.Add(ops.Matmul(xs[0], w), ops.Matmul(carry[0], u)))
			return tensors{h}, tensors{ops.Multiply(h, b)}
		}, tensors{h}, tensors{x}, o)
		return append(final, ys...)
	}
}

// nested is a scan over rows of a scan over columns; both bodies use tensors from outside.
func nested(g *ops.Graph, in tensors) tensors {
	x, w := in[0], in[1] // (rows, columns, units), (units)
	zero := ops.Zeros(g, ir.Float64, x.Dim(-1))
	final, ys := ops.Scan(func(outer, rows tensors) (next, ys tensors) {
		scaled := ops.Multiply(outer[0], w)
		inner, cells := ops.Scan(func(carry, cells tensors) (next, ys tensors) {
			s := ops.Sin(ops.Add(ops.Add(carry[0], ops.Multiply(cells[0], w)), scaled))
			return tensors{s}, tensors{ops.Square(s)}
		}, tensors{outer[0]}, tensors{rows[0]}, ops.ScanOptions{})
		return inner, tensors{ops.Sum(cells[0], 0)}
	}, tensors{zero}, tensors{x}, ops.ScanOptions{Reverse: true})
	return append(final, ys...)
}

// sign is a Cond on the sign of the sum of x.
func sign(then, otherwise func(x, w *ops.Tensor) *ops.Tensor) opstest.Func {
	return func(_ *ops.Graph, in tensors) tensors {
		x, w := in[0], in[1]
		positive := ops.CompareScalar(ir.Gt, ops.Sum(x), 0)
		return ops.Cond(positive, func() tensors { return tensors{then(x, w)} }, func() tensors { return tensors{otherwise(x, w)} })
	}
}

func init() {
	n := opstest.Normal
	rnnIn := []opstest.Array{n(1, 4, 2, 3), n(2, 2, 2), n(3, 3, 2), n(4, 2, 2), n(5, 2)}
	addCase("scan", true, rnn(ops.ScanOptions{}), rnnIn...)
	addCase("scan reversed", true, rnn(ops.ScanOptions{Reverse: true}), rnnIn...)
	addCase("scan of no steps", true, rnn(ops.ScanOptions{}), n(1, 0, 2, 3), rnnIn[1], rnnIn[2], rnnIn[3], rnnIn[4])
	addCase("scan of one step", true, rnn(ops.ScanOptions{}), n(1, 1, 2, 3), rnnIn[1], rnnIn[2], rnnIn[3], rnnIn[4])
	addCase("nested scans", true, nested, n(1, 2, 3, 2), n(2, 2))
	addCase("scan, final state only", true, func(g *ops.Graph, in tensors) tensors { return rnn(ops.ScanOptions{})(g, in)[:1] }, rnnIn...)
	addCase("scan, results only", true, func(g *ops.Graph, in tensors) tensors { return rnn(ops.ScanOptions{})(g, in)[1:] }, rnnIn...)
	addCase("scan without xs", true, func(g *ops.Graph, in tensors) tensors {
		final, ys := ops.Scan(func(carry, _ tensors) (tensors, tensors) {
			next := ops.Sin(ops.Multiply(carry[0], in[1]))
			return tensors{next}, tensors{carry[0]}
		}, tensors{in[0]}, nil, ops.ScanOptions{Length: 3})
		return append(final, ys...)
	}, n(1, 2), n(2, 2))
	addCase("scan without carries", true, func(g *ops.Graph, in tensors) tensors {
		_, ys := ops.Scan(func(_, xs tensors) (tensors, tensors) {
			return nil, tensors{ops.Multiply(ops.Square(xs[0]), in[1]), xs[0]}
		}, nil, tensors{in[0]}, ops.ScanOptions{})
		return ys
	}, n(1, 3, 2), n(2, 2))
	addCase("scan that counts", true, func(g *ops.Graph, in tensors) tensors {
		zero := ops.Zeros(g, ir.Int32)
		final, ys := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			i := ops.AddScalar(carry[0], 1)
			y := ops.Multiply(ops.Cast(i, ir.Float64), ops.Multiply(xs[0], carry[1]))
			return tensors{i, y}, tensors{i, ops.Take(in[1], carry[0], 0)}
		}, tensors{zero, ops.Ones(g, ir.Float64, 2)}, tensors{in[0]}, ops.ScanOptions{})
		return append(final[1:], ys[1])
	}, n(1, 3, 2), n(2, 4))
	addCase("scan with one tensor in every role", true, func(g *ops.Graph, in tensors) tensors {
		x := in[0]
		final, ys := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			next := ops.Sin(ops.Add(ops.Multiply(carry[0], xs[0]), x))
			return tensors{next}, tensors{next, carry[0]}
		}, tensors{x}, tensors{ops.Stack(0, x, ops.Square(x))}, ops.ScanOptions{})
		return append(final, ys...)
	}, n(1, 2))
	addCase("scan whose body ignores its operands", true, func(g *ops.Graph, in tensors) tensors {
		final, ys := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			return tensors{ops.Square(in[1])}, tensors{in[2]}
		}, tensors{in[0]}, tensors{in[0]}, ops.ScanOptions{})
		return append(final, ys...)
	}, n(1, 2), n(2, 2), opstest.Scalar(3))

}

func init() {
	n := opstest.Normal
	square := func(x, w *ops.Tensor) *ops.Tensor { return ops.Multiply(ops.Square(x), w) }
	sine := func(x, _ *ops.Tensor) *ops.Tensor { return ops.Sin(x) }
	for _, x := range []opstest.Array{opstest.Floats([]int{2}, 1, 2), opstest.Floats([]int{2}, -1, -2)} {
		addCase(caseName("cond", x)+caseName(x.F[0]), true, sign(square, sine), x, n(3, 2))
		addCase(caseName("cond in scan", x)+caseName(x.F[0]), true, func(g *ops.Graph, in tensors) tensors {
			final, ys := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
				y := sign(square, sine)(g, tensors{ops.Multiply(carry[0], xs[0]), in[1]})
				return y, tensors{ops.Square(y[0])}
			}, tensors{in[0]}, tensors{in[2]}, ops.ScanOptions{})
			return append(final, ys...)
		}, x, n(3, 2), opstest.Floats([]int{3, 2}, 1, 0.5, -1, 0.3, 0.4, -0.7))
		addCase(caseName("scan in cond", x)+caseName(x.F[0]), true, sign(func(x, w *ops.Tensor) *ops.Tensor {
			final, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
				return tensors{ops.Sin(ops.Multiply(ops.Add(carry[0], xs[0]), w))}, nil
			}, tensors{x}, tensors{ops.Stack(0, x, w, x)}, ops.ScanOptions{})
			return final[0]
		}, sine), x, n(3, 2))
		addCase(caseName("cond in cond", x)+caseName(x.F[0]), true, sign(func(x, w *ops.Tensor) *ops.Tensor {
			return ops.Cond(ops.CompareScalar(ir.Gt, ops.Sum(w), 0), func() tensors { return tensors{ops.Multiply(x, w)} }, func() tensors { return tensors{ops.Divide(ops.Exp(x), w)} })[0]
		}, sine), x, n(3, 2))
	}
	addCase("cond of many operands", true, func(g *ops.Graph, in tensors) tensors {
		product := func(f func(x *ops.Tensor) *ops.Tensor) func() tensors {
			return func() tensors {
				y := in[0]
				for _, x := range in[1:] {
					y = ops.Multiply(f(y), ops.Exp(x))
				}
				return tensors{y}
			}
		}
		return ops.Cond(ops.CompareScalar(ir.Gt, ops.Sum(in[0]), 0), product(ops.Sin), product(ops.Tanh))
	}, n(1, 2), n(2, 2), n(3, 2), n(4, 2), n(5, 2), n(6, 2))
	addCase("gradient of loops outside, asked for inside a branch", true, func(g *ops.Graph, in tensors) tensors {
		x, w := in[0], in[1]
		final, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			return tensors{ops.Sin(ops.Multiply(carry[0], ops.Add(xs[0], w)))}, nil
		}, tensors{x}, tensors{ops.Stack(0, x, w)}, ops.ScanOptions{})
		y := ops.Add(final[0], sign(square, sine)(g, in)[0])
		return ops.Cond(ops.CompareScalar(ir.Lt, ops.Sum(w), 100), func() tensors { return ops.Grad(ops.Square(y), x, w) }, func() tensors { return in })
	}, n(1, 2), n(2, 2))
	addCase("gradient of what lies outside, asked for inside scans", true, func(g *ops.Graph, in tensors) tensors {
		x, w := in[0], in[1]
		y := ops.Multiply(ops.Sin(x), w)
		final, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			z := ops.Multiply(y, ops.Cos(ops.Add(carry[0], x)))
			inner, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
				loss := ops.Multiply(ops.Multiply(z, y), ops.Multiply(x, carry[0]))
				return tensors{ops.Tanh(ops.Add(ops.Grad(loss, x)[0], ops.Grad(loss, y, w)[1]))}, nil
			}, tensors{carry[0]}, tensors{xs[0]}, ops.ScanOptions{})
			return inner, nil
		}, tensors{w}, tensors{ops.Zeros(g, ir.Float64, 2, 2)}, ops.ScanOptions{})
		return final
	}, n(1, 2), n(2, 2))
	addCase("gradient of a gradient inside a scan", true, func(g *ops.Graph, in tensors) tensors {
		final, ys := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			y := ops.Multiply(ops.Sin(carry[0]), ops.Multiply(xs[0], in[2]))
			return tensors{ops.Grad(y, carry[0])[0]}, tensors{y}
		}, tensors{in[0]}, tensors{in[1]}, ops.ScanOptions{})
		return append(final, ys...)
	}, n(1, 2), n(2, 3, 2), n(3, 2))
}

// Two gradients of one scan: the first must not change the body for the second.
func TestTwoGradientsOfOneScan(t *testing.T) {
	n := opstest.Normal
	in := []opstest.Array{n(1, 4, 2, 3), n(2, 2, 2), n(3, 3, 2), n(4, 2, 2), n(5, 2)}
	separate := func(which int) []opstest.Array {
		return opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
			return ops.Grad(rnn(ops.ScanOptions{})(g, in)[which], in...)[:4]
		}, in...)
	}
	together := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		out := rnn(ops.ScanOptions{})(g, in)
		return append(ops.Grad(out[0], in...)[:4], ops.Grad(out[1], in...)[:4]...)
	}, in...)
	for i, want := range append(separate(0), separate(1)...) {
		opstest.Near(t, "gradient", together[i], want, 0, 0)
	}
}

func TestScanResults(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		zero := ops.Zeros(g, ir.Float64)
		step := func(carry, xs tensors) (tensors, tensors) {
			s := ops.Add(ops.MultiplyScalar(carry[0], 10), xs[0])
			return tensors{s}, tensors{s}
		}
		forward, ys := ops.Scan(step, tensors{zero}, tensors{in[0]}, ops.ScanOptions{})
		backward, zs := ops.Scan(step, tensors{zero}, tensors{in[0]}, ops.ScanOptions{Reverse: true})
		return tensors{forward[0], ys[0], backward[0], zs[0]}
	}, opstest.Floats([]int{3}, 1, 2, 3))
	opstest.Near(t, "final", out[0], opstest.Scalar(123), 0, 0)
	opstest.Near(t, "ys", out[1], opstest.Floats([]int{3}, 1, 12, 123), 0, 0)
	opstest.Near(t, "reversed final", out[2], opstest.Scalar(321), 0, 0)
	opstest.Near(t, "reversed ys", out[3], opstest.Floats([]int{3}, 321, 32, 3), 0, 0)
}

func TestWhileLoop(t *testing.T) {
	fn := func(g *ops.Graph, in tensors) tensors {
		return ops.WhileLoop(
			func(s tensors) *ops.Tensor { return ops.Less(s[0], in[1]) },
			func(s tensors) tensors { return tensors{ops.Multiply(s[0], in[2]), ops.AddScalar(s[1], 1)} },
			in[0], ops.Zeros(g, ir.Int32))
	}
	out := opstest.Eval(t, fn, opstest.Scalar(1), opstest.Scalar(100), opstest.Scalar(3))
	require.Equal(t, []float64{243}, out[0].F)
	require.Equal(t, []float64{5}, out[1].F)
	err := opstest.EvalError(func(g *ops.Graph, in tensors) tensors { return ops.Grad(fn(g, in)[0], in[0]) },
		opstest.Scalar(1), opstest.Scalar(100), opstest.Scalar(3))
	require.ErrorContains(t, err, "while_loop has no gradient")
}

// Only the branch taken runs, even if all of its operands come from outside.
func TestCondRunsOneBranch(t *testing.T) {
	fn := func(take func(in tensors) *ops.Tensor) opstest.Func {
		return func(_ *ops.Graph, in tensors) tensors {
			return ops.Cond(ops.CompareScalar(ir.Gt, in[0], 0), func() tensors { return tensors{take(in)} }, func() tensors { return tensors{in[0]} })
		}
	}
	direct := fn(func(in tensors) *ops.Tensor { return ops.Take(in[1], in[2], 0) })
	in := []opstest.Array{opstest.Scalar(-1), opstest.Floats([]int{2}, 1, 2), opstest.Ints(nil, 5)}
	require.Equal(t, []float64{-1}, opstest.Eval(t, direct, in...)[0].F)
	in[0] = opstest.Scalar(1)
	require.ErrorContains(t, opstest.EvalError(direct, in...), "index 5")
}

// Inside a body, the gradient with respect to tensors outside is complete: both directly and through what was computed
// from them.
func TestGradientWithRespectToOuterTensors(t *testing.T) {
	inside := func(f func(in tensors) tensors) opstest.Func {
		return func(_ *ops.Graph, in tensors) tensors {
			y := ops.Square(in[0])
			f2 := func() tensors { return f(append(in, y)) }
			return append(f2(), ops.Cond(ops.CompareScalar(ir.Gt, in[1], 0), f2, func() tensors { return tensors{in[0], in[0], in[0]} })...)
		}
	}
	out := opstest.Eval(t, inside(func(in tensors) tensors {
		x, w, y := in[0], in[1], in[2]
		loss := ops.Multiply(ops.Multiply(x, w), y) // x³·w
		return ops.Grad(loss, x, y, w)
	}), opstest.Scalar(3), opstest.Scalar(5))
	for i, want := range []float64{3 * 9 * 5, 15, 27, 3 * 9 * 5, 15, 27} {
		require.Equal(t, want, out[i].F[0], "%d", i)
	}
	// A custom gradient in a branch outside counts as well.
	out = opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		y := ops.Cond(ops.All(in[0]), func() tensors { return tensors{doubled(in[0])} }, func() tensors { return in })
		return ops.Cond(ops.All(in[0]), func() tensors { return ops.Grad(ops.Square(y[0]), in[0]) }, func() tensors { return in })
	}, opstest.Scalar(3))
	require.Equal(t, []float64{12}, out[0].F)
	err := opstest.EvalError(func(_ *ops.Graph, in tensors) tensors {
		return ops.Grad(in[0], ops.NewGraph("other").Input("x", ir.Float64))
	}, opstest.Scalar(3))
	require.ErrorContains(t, err, `the sources belong to the trace "other"`)
}

func TestControlErrors(t *testing.T) {
	x := opstest.Normal(1, 2)
	id := func(carry, xs tensors) (tensors, tensors) { return carry, xs }
	tests := []struct {
		fn   func(g *ops.Graph, x *ops.Tensor) tensors
		want string
	}{
		{func(_ *ops.Graph, _ *ops.Tensor) tensors {
			f, _ := ops.Scan(id, nil, nil, ops.ScanOptions{Length: 2})
			return f
		}, "at least one carried or stacked tensor"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			f, _ := ops.Scan(id, nil, tensors{x, ops.Sum(x)}, ops.ScanOptions{})
			return f
		}, "same number of steps"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			f, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) { return nil, nil }, tensors{x}, nil, ops.ScanOptions{Length: 1})
			return f
		}, "returned 0 carried tensors for 1"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			f, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) { return tensors{ops.Sum(carry[0])}, nil }, tensors{x}, nil, ops.ScanOptions{Length: 1})
			return f
		}, "begins as float64[2] and the body returned float64[]"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			return ops.Cond(x, func() tensors { return nil }, func() tensors { return nil })
		}, "predicate must be a bool scalar"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			return ops.Cond(nil, func() tensors { return nil }, func() tensors { return nil })
		}, "condition is nil"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			return ops.Cond(ops.All(x), func() tensors { return tensors{x} }, func() tensors { return nil })
		}, "return 1 and 0 values"},
		{func(_ *ops.Graph, x *ops.Tensor) tensors {
			var leak *ops.Tensor
			ops.Scan(func(carry, xs tensors) (tensors, tensors) { leak = ops.Square(carry[0]); return carry, nil }, tensors{x}, nil, ops.ScanOptions{Length: 1})
			return tensors{ops.Add(leak, x)}
		}, "after the body had ended"},
	}
	for _, test := range tests {
		err := opstest.EvalError(func(g *ops.Graph, in tensors) tensors { return test.fn(g, in[0]) }, x)
		require.ErrorContains(t, err, test.want, test.want)
	}
}
