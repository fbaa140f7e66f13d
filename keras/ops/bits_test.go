package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestNextafterLikeMath compares random bit patterns, and extreme cases, with package math's function.
func TestNextafterLikeMath(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	corners := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64}
	var a, b []float64
	for _, x := range corners {
		for _, y := range corners {
			a, b = append(a, x), append(b, y)
		}
	}
	for range 500 {
		a, b = append(a, math.Float64frombits(rng.Uint64())), append(b, math.Float64frombits(rng.Uint64()))
	}
	for _, d := range []ir.DType{ir.Float64, ir.Float32} {
		g := ops.NewGraph("nextafter")
		x, y := g.Input("x", d, len(a)), g.Input("y", d, len(a))
		g.Program().AddOutput("next", ops.In(g, ops.Nextafter(x, y)))
		u, err := reference.New(d, ir.Shape{len(a)}, a...)
		require.NoError(t, err)
		v, err := reference.New(d, ir.Shape{len(a)}, b...)
		require.NoError(t, err)
		out, err := (reference.Interpreter{Round: true}).Run(g.Program(), []reference.Value{u, v})
		require.NoError(t, err)
		for i := range a {
			want := math.Nextafter(u.At(i), v.At(i))
			if d == ir.Float32 {
				want = float64(math.Nextafter32(float32(u.At(i)), float32(v.At(i))))
			}
			if got := out[0].At(i); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%v: after %v towards %v comes %v, received %v", d, u.At(i), v.At(i), want, got)
			}
		}
	}
}

// TestJVPLikeDifferences compares a directional derivative with the central difference.
func TestJVPLikeDifferences(t *testing.T) {
	f := func(xs []*ops.Tensor) []*ops.Tensor {
		y := ops.Matmul(xs[0], xs[1])
		return []*ops.Tensor{ops.Sin(y), ops.Sum(ops.Exp(xs[0])), ops.Full(xs[0], ir.Float64, 3)}
	}
	run := func(step float64) []reference.Value {
		g := ops.NewGraph("jvp")
		x, y := g.Input("x", ir.Float64, 2, 3), g.Input("y", ir.Float64, 3, 2)
		dx, dy := ops.Constant(g, ir.Float64, ir.Shape{2, 3}, []float64{1, -2, 0.5, 0, 3, 1}), ops.Constant(g, ir.Float64, ir.Shape{3, 2}, []float64{1, 2, -1, 0.3, 0, 1})
		in := []*ops.Tensor{ops.Add(x, ops.MultiplyScalar(dx, step)), ops.Add(y, ops.MultiplyScalar(dy, step))}
		results, slopes := ops.JVP(f, in, []*ops.Tensor{dx, dy})
		for _, r := range append(results, slopes...) {
			g.Program().AddOutput("r", ops.In(g, r))
		}
		a, err := reference.New(ir.Float64, ir.Shape{2, 3}, 0.1, 0.7, -0.4, 1.1, 0.2, -0.9)
		require.NoError(t, err)
		b, err := reference.New(ir.Float64, ir.Shape{3, 2}, 0.5, -0.7, 1.4, 0.1, -0.2, 0.9)
		require.NoError(t, err)
		out, err := (reference.Interpreter{}).Run(g.Program(), []reference.Value{a, b})
		require.NoError(t, err)
		return out
	}
	const h = 1e-6
	at, up, down := run(0), run(h), run(-h)
	for k := range 3 {
		for i := range at[k].F {
			want := (up[k].F[i] - down[k].F[i]) / (2 * h)
			require.InDelta(t, want, at[3+k].F[i], 1e-7)
		}
	}
}
