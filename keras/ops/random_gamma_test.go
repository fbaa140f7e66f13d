package ops_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// distance is the largest difference between the fraction of numbers up to x and the distribution's (Kolmogorov and
// Smirnov).
func distance(xs []float64, below func(x float64) float64) float64 {
	largest := 0.0
	for i, x := range slices.Sorted(slices.Values(xs)) {
		p := below(x)
		largest = max(largest, math.Abs(p-float64(i)/float64(len(xs))), math.Abs(p-float64(i+1)/float64(len(xs))))
	}
	return largest
}

// TestRandomGamma: numbers have the distributions given by the incomplete gamma and beta functions, within the
// deviation that one in a thousand samples of that size exceeds.
func TestRandomGamma(t *testing.T) {
	const n = 3000
	bound := 1.95 / math.Sqrt(n)
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, a := range []float64{0.2, 0.7, 1, 3.5, 40} {
			t.Run(fmt.Sprint(d, a), func(t *testing.T) {
				out := opstest.Eval(t, func(g *ops.Graph, _ tensors) tensors {
					alpha := ops.Full(g, d, a)
					return tensors{ops.RandomGamma(alpha, 1, n), ops.RandomBeta(alpha, ops.Full(g, d, 2*a), 2, n), ops.RandomBeta(alpha, alpha, 2, n)}
				})
				require.Equal(t, d, out[0].DType)
				assert.Less(t, distance(out[0].F, func(x float64) float64 { return mathext.GammaIncReg(a, x) }), bound)
				assert.Less(t, distance(out[1].F, func(x float64) float64 { return mathext.RegIncBeta(a, 2*a, x) }), bound)
				assert.Less(t, distance(out[2].F, func(x float64) float64 { return mathext.RegIncBeta(a, a, x) }), bound)
			})
		}
	}
}

// TestRandomBetaOfSmallParameters: if both gamma numbers are too small for the type, the beta numbers are 0 or 1 with
// equal probability.
func TestRandomBetaOfSmallParameters(t *testing.T) {
	const n = 4000
	out := opstest.Eval(t, func(g *ops.Graph, _ tensors) tensors {
		alpha := ops.Full(g, ir.Float32, 1e-6)
		return tensors{ops.RandomBeta(alpha, alpha, 1, n)}
	})
	ones := 0.0
	for _, x := range out[0].F {
		require.True(t, x < 1e-6 || x > 1-1e-6, "%v", x)
		ones += math.Round(x)
	}
	assert.InDelta(t, n/2, ones, 5*math.Sqrt(n)/2)
}

// TestRandomDirichlet: vectors sum to 1, and each element has the beta distribution of its alpha and the sum of the
// other alphas. The parameter may vary along an axis.
func TestRandomDirichlet(t *testing.T) {
	const n = 3000
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		return tensors{ops.RandomDirichlet(ops.Full(g, ir.Float32, 0.8), 1, n, 3), ops.RandomGamma(ops.Cast(in[0], ir.Float32), 1, n, 2)}
	}, opstest.Floats([]int{2}, 0.5, 9))
	for axis := range 3 {
		var xs []float64
		for i := range n {
			v := out[0].F[3*i : 3*i+3]
			require.InDelta(t, 1, v[0]+v[1]+v[2], 1e-6)
			xs = append(xs, v[axis])
		}
		assert.Less(t, distance(xs, func(x float64) float64 { return mathext.RegIncBeta(0.8, 1.6, x) }), 1.95/math.Sqrt(n))
	}
	for column, a := range []float64{0.5, 9} {
		var xs []float64
		for i := range n {
			xs = append(xs, out[1].F[2*i+column])
		}
		assert.Less(t, distance(xs, func(x float64) float64 { return mathext.GammaIncReg(a, x) }), 1.95/math.Sqrt(n))
	}
}

func TestRandomGammaErrors(t *testing.T) {
	for want, f := range map[string]func(g *ops.Graph) *ops.Tensor{
		"random gamma: needs a float type, received int32":                         func(g *ops.Graph) *ops.Tensor { return ops.RandomGamma(ops.Full(g, ir.Int32, 1), 0, 2) },
		"random beta: parameters of shape [3] do not fit the shape [2]":            func(g *ops.Graph) *ops.Tensor { a := ops.Ones(g, ir.Float32, 3); return ops.RandomBeta(a, a, 0, 2) },
		"random dirichlet: needs a shape whose last axis has at least one element": func(g *ops.Graph) *ops.Tensor { return ops.RandomDirichlet(ops.Ones(g, ir.Float32), 0) },
	} {
		err := opstest.EvalError(func(g *ops.Graph, _ tensors) tensors { return tensors{f(g)} })
		assert.ErrorContains(t, err, want)
	}
}

func ExampleRandomBeta() {
	g := ops.NewGraph("example")
	alpha := ops.Full(g, ir.Float32, 0.2)
	g.SetRandom(func() *ops.Tensor { return g.Input("random", ir.Uint32, 4) })
	fmt.Println(ops.RandomBeta(alpha, alpha, 0, 4).Type())
	// Output: float32[4]
}
