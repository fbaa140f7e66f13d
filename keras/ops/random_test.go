package ops_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	addCase("dropout", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.Dropout(x, 0.4, 3)) }), opstest.Normal(1, 3, 4))
	addCase("dropout in a scan", true, func(_ *ops.Graph, in tensors) tensors {
		final, _ := ops.Scan(func(carry, xs tensors) (tensors, tensors) {
			return tensors{ops.Sin(ops.Add(ops.Dropout(carry[0], 0.4, 3), xs[0]))}, nil
		}, tensors{in[0]}, tensors{in[1]}, ops.ScanOptions{})
		return final
	}, opstest.Normal(1, 4), opstest.Normal(1, 2, 4))
	addCase("random numbers as factors", true, func(g *ops.Graph, in tensors) tensors {
		noise := ops.RandomNormal(g, ir.Float64, 0, 1, 5, 3)
		return tensors{ops.Multiply(in[0], noise)}
	}, opstest.Normal(1, 3))
}

func moments(x []float64) (mean, stddev, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range x {
		mean += v / float64(len(x))
		low, high = min(low, v), max(high, v)
	}
	for _, v := range x {
		stddev += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(stddev), low, high
}

func TestRandomDistributions(t *testing.T) {
	const n = 20000
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		out := opstest.Eval(t, func(g *ops.Graph, _ tensors) tensors {
			return tensors{
				ops.RandomUniform(g, d, 0, 1, 1, n), ops.RandomUniform(g, d, -2, 4, 2, n), ops.RandomNormal(g, d, 3, 2, 3, n),
				ops.TruncatedNormal(g, d, 3, 2, 4, n),
			}
		})
		want := []struct{ mean, stddev, low, high float64 }{
			{0.5, math.Sqrt(1. / 12), 0, 1}, {1, 6 * math.Sqrt(1./12), -2, 4}, {3, 2, math.Inf(-1), math.Inf(1)}, {3, 2 * 0.87962566, -1, 7},
		}
		for i, w := range want {
			mean, stddev, low, high := moments(out[i].As(d).F)
			require.InDelta(t, w.mean, mean, 0.03*w.stddev, "%v %d", d, i)
			require.InEpsilon(t, w.stddev, stddev, 0.03, "%v %d", d, i)
			require.GreaterOrEqual(t, low, w.low, "%v %d", d, i)
			require.LessOrEqual(t, high, w.high, "%v %d", d, i)
			if i < 2 {
				require.Less(t, high, w.high, "%v %d: the upper end does not belong to the interval", d, i)
			}
		}
	}
}

// The numbers depend only on the seed and the position.
func TestRandomStreams(t *testing.T) {
	fn := func(g *ops.Graph, _ tensors) (out tensors) {
		g.InScope("a", func() {
			out = append(out, ops.RandomBits(g, 1, 8), ops.RandomBits(g, 1, 8), ops.RandomBits(g, 2, 8))
		})
		g.InScope("b", func() { out = append(out, ops.RandomBits(g, 1, 8)) })
		return out
	}
	first, second := opstest.Eval(t, fn), opstest.Eval(t, fn)
	require.Equal(t, first, second)
	for i := range first {
		for j := range i {
			require.NotEqual(t, first[i].F, first[j].F, "%d and %d", i, j)
		}
	}
}

func TestDropout(t *testing.T) {
	x := opstest.Random(1, 1, 2, 4000)
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		y := ops.Dropout(in[0], 0.25, 1)
		return tensors{y, ops.Grad(y, in[0])[0], ops.Dropout(in[0], 0, 1)}
	}, x)
	kept := 0
	for i, v := range out[0].F {
		if v != 0 {
			kept++
			require.InEpsilon(t, x.F[i]/0.75, v, 1e-15)
			require.InEpsilon(t, 1/0.75, out[1].F[i], 1e-15)
		} else {
			require.Zero(t, out[1].F[i])
		}
	}
	require.InDelta(t, 3000, kept, 100)
	require.True(t, slices.Equal(x.F, out[2].F))
}

func TestRandomErrors(t *testing.T) {
	tests := []struct {
		f    func(g *ops.Graph) *ops.Tensor
		want string
	}{
		{func(g *ops.Graph) *ops.Tensor { return ops.RandomUniform(g, ir.Int32, 0, 1, 0, 2) }, "needs a float type, received int32"},
		{func(g *ops.Graph) *ops.Tensor { return ops.RandomUniform(g, ir.Float32, 1, 1, 0, 2) }, "the range [1, 1) is empty"},
		{func(g *ops.Graph) *ops.Tensor { return ops.Dropout(ops.Ones(g, ir.Float32), 1, 0) }, "at least 0 and below 1, received 1"},
		{func(g *ops.Graph) *ops.Tensor { return ops.RandomBits(ops.NewGraph("bare"), 1) }, "call SetRandom"},
	}
	for _, test := range tests {
		err := opstest.EvalError(func(g *ops.Graph, _ tensors) tensors { return tensors{test.f(g)} })
		require.ErrorContains(t, err, test.want, test.want)
	}
}

// A branch may be the first to use the random state; it still belongs to the trace.
func TestRandomStateFromABranch(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		y := ops.Cond(ops.CompareScalar(ir.Gt, in[0], 0), func() tensors { return tensors{ops.RandomUniform(g, ir.Float64, 0, 1, 1)} }, func() tensors { return in })
		return tensors{y[0], ops.RandomUniform(g, ir.Float64, 0, 1, 1)}
	}, opstest.Scalar(1))
	require.NotEqual(t, out[0].F, out[1].F)
}
