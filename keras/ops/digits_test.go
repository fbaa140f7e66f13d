package ops_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// cancelling are the activations that Keras defines as differences, which lose digits where both terms are nearly
// equal: x − tanh(x) near 0, and x + √(x² + b) for large negative numbers.
var cancelling = []string{"squareplus", "tanh_shrink", "sparsemax"} // the last one is not elementwise

// TestActivationsKeepTheirDigits compares activations and their gradients in float32 with float64. The error of a
// result may be that of a few rounding errors of x. A gradient may be a difference, like 1 − y², but not of large
// terms.
func TestActivationsKeepTheirDigits(t *testing.T) {
	const unit, small = 0x1p-24, 1e-7
	var xs, moved []float64
	for e := -20.0; e < 6.4; e += 0.0137 {
		x := float64(float32(math.Exp2(e)))
		xs, moved = append(xs, x, -x), append(moved, x*(1+small), -x*(1+small))
	}
	single := opstest.Floats([]int{len(xs)}, xs...)
	single.DType = ir.Float32
	for _, name := range slices.Sorted(maps.Keys(activations)) {
		if slices.Contains(cancelling, name) {
			continue
		}
		fn := func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			y := activations[name](in[0])
			return []*ops.Tensor{y, ops.Grad(ops.Sum(y), in...)[0]}
		}
		got := opstest.EvalOn(t, "cpu", fn, single)
		want := opstest.Eval(t, fn, opstest.Floats([]int{len(xs)}, xs...))
		other := opstest.Eval(t, fn, opstest.Floats([]int{len(xs)}, moved...))
		for i, x := range xs {
			y, slope := want[0].F[i], want[1].F[i]
			change := math.Abs(other[0].F[i]-y) / small // for a relative change of x
			if math.Abs(y) > 0x1p-100 && !assert.InDelta(t, y, got[0].F[i], unit*(4*math.Abs(y)+2*change), "%s(%g)", name, x) {
				break
			}
			if !assert.InDelta(t, slope, got[1].F[i], unit*(8*max(1, math.Abs(slope))+16*math.Abs(x)), "gradient of %s(%g)", name, x) {
				break
			}
		}
	}
}

// TestSlopesKeepTheirDigits compares gradients in float32, at numbers of all magnitudes, with formulas in float64 that
// subtract nothing.
func TestSlopesKeepTheirDigits(t *testing.T) {
	var xs []float64
	r := rand.New(rand.NewPCG(3, 20))
	for range 1500 {
		x := float64(float32(math.Exp2(-30 + 157*r.Float64())))
		near := float64(float32(math.Exp2(-12 + 18*r.Float64())))
		xs = append(xs, x, -x, near, -near)
	}
	for _, c := range []struct {
		name string
		f    func(x *ops.Tensor) *ops.Tensor
		want func(x float64) float64
	}{
		{"softsign", ops.Softsign, func(x float64) float64 { return math.Pow(1+math.Abs(x), -2) }},
		{"tanh_shrink", ops.TanhShrink, func(x float64) float64 { return math.Pow(math.Tanh(x), 2) }},
	} {
		in := opstest.Floats([]int{len(xs)}, xs...)
		in.DType = ir.Float32
		got := opstest.EvalOn(t, "cpu", func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return ops.Grad(ops.Sum(c.f(in[0])), in...) }, in)[0].F
		for i, x := range xs {
			if want := c.want(x); !assert.InDelta(t, want, got[i], 8*0x1p-24*want+0x1p-126, "%s(%g)", c.name, x) {
				break
			}
		}
	}
}
