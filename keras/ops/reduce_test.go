package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	reductions := []struct {
		name string
		f    func(x *ops.Tensor, axes ...int) *ops.Tensor
	}{
		{"sum", ops.Sum}, {"prod", ops.Prod}, {"max", ops.Max}, {"min", ops.Min}, {"mean", ops.Mean},
		{"variance", ops.Variance}, {"std", ops.Std}, {"norm", ops.Norm}, {"logsumexp", ops.Logsumexp},
	}
	x := opstest.Distinct(3, 0.2, 2, 3, 4)
	for _, r := range reductions {
		for _, axes := range [][]int{nil, {-1}, {0, 2}, {1}} {
			addCase(caseName(r.name, x)+caseName(axes), true, unary(func(x *ops.Tensor) *ops.Tensor { return r.f(x, axes...) }), x)
		}
		one := opstest.Normal(5, 3, 1)
		if r.name != "std" { // the standard deviation of one number has no slope
			addCase(caseName(r.name, one), true, unary(func(x *ops.Tensor) *ops.Tensor { return r.f(x, 1) }), one)
		}
	}
	empty := opstest.Normal(1, 0, 3)
	addCase("sum of nothing", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Sum(x, 0) }), empty)
	addCase("prod of nothing", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Prod(x, 0) }), empty)
	zeros := opstest.Floats([]int{3, 3}, 2, 0, 3, 0, 0, 5, 1, 2, 4)
	addCase("prod with zeros", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Prod(x, 1) }), zeros)
	addCase("moments", true, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		mean, variance := ops.Moments(in[0], 0, -1)
		return []*ops.Tensor{mean, variance}
	}, x)
	addCase("average", true, binary(func(x, w *ops.Tensor) *ops.Tensor { return ops.Average(x, w, 1) }), x, opstest.Random(1, 0.5, 1, 3))
	addCase("median", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Add(ops.Median(x, -1), ops.Sum(ops.Median(x, 1))) }), x)

	cumulative := []struct {
		name string
		f    func(x *ops.Tensor, axis int) *ops.Tensor
	}{{"cumsum", ops.Cumsum}, {"cumprod", ops.Cumprod}, {"cummax", ops.Cummax}, {"cummin", ops.Cummin}}
	for _, c := range cumulative {
		for axis := range 3 {
			addCase(caseName(c.name, x)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return c.f(x, axis) }), x)
		}
		addCase(caseName(c.name, empty), true, unary(func(x *ops.Tensor) *ops.Tensor { return c.f(x, 0) }), empty)
	}
	for _, n := range []int{1, 2, 16, 17, 40} { // unrolled, and in a loop
		for axis := range 2 {
			addCase(caseName("cumprod")+caseName(n)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Cumprod(x, axis) }), opstest.Random(n, 0.5, 1.5, n, n))
			addCase(caseName("prod")+caseName(n)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Prod(x, axis) }), opstest.Random(n, 0.5, 1.5, n, n))
		}
	}
	addCase("prod of few with zeros", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Prod(x, 1) }), zeros)
	addCase("cumprod with zeros", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Cumprod(x, 1) }), zeros)
}

func TestReduceResults(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	x := opstest.Floats([]int{3, 2}, 1, nan, -3, 4, -inf, 5)
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		x := in[0]
		return []*ops.Tensor{
			ops.Max(x, 0), ops.Min(x, -2), ops.Argmax(x, 0), ops.Argmin(x, 0), ops.CountNonzero(x, 0), ops.All(ops.Isfinite(x), 1),
			ops.Any(ops.Isinf(x), 1), ops.Logsumexp(x, 1), ops.Median(x, 0), ops.Mean(x, 1),
		}
	}, x)
	want := [][]float64{{1, nan}, {-inf, nan}, {0, 0}, {2, 0}, {3, 3}, {0, 1, 0}, {0, 0, 1}, {nan, 4 + math.Log1p(math.Exp(-7)), 5}, {-3, nan}, {nan, 0.5, -inf}}
	for i, w := range want {
		opstest.Near(t, "result", out[i], opstest.Floats([]int{len(w)}, w...), 1e-15, 0)
	}
	require.Equal(t, ir.Int32, out[2].DType)
}

// Logsumexp is finite where its operands are large, and -inf where all are.
func TestLogsumexpLimits(t *testing.T) {
	y, dx := gradientAt(t, func(x *ops.Tensor) *ops.Tensor { return ops.Logsumexp(x) }, 1000, 1000, -1000)
	require.InDelta(t, 1000+math.Ln2, y[0], 1e-12)
	require.Equal(t, []float64{0.5, 0.5, 0}, dx)
	y, _ = gradientAt(t, func(x *ops.Tensor) *ops.Tensor { return ops.Logsumexp(x) }, math.Inf(-1), math.Inf(-1))
	require.Equal(t, math.Inf(-1), y[0])
}

// Equal maxima or minima share the gradient.
func TestMaxTies(t *testing.T) {
	_, dx := gradientAt(t, func(x *ops.Tensor) *ops.Tensor { return ops.Max(x) }, 1, 3, 3, 2)
	require.Equal(t, []float64{0, 0.5, 0.5, 0}, dx)
	_, dx = gradientAt(t, func(x *ops.Tensor) *ops.Tensor { return ops.Cummax(x, 0) }, 1, 1, 3, 3)
	require.Equal(t, []float64{2, 0, 2, 0}, dx)
}
