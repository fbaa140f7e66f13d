package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// composed are functions that take several steps, with the corresponding ones of package math, the range to check, and
// the largest error in units of the last place, in float32 and float64: two or more if package math's own error
// matters.
var composed = []struct {
	name          string
	f             func(x *ops.Tensor) *ops.Tensor
	want          func(x float64) float64
	low, high     float64
	single, wider float64
}{
	{"erfc", ops.Erfc, math.Erfc, -6, 9, 2, 4},
	{"erfc far", ops.Erfc, math.Erfc, 9, 26, math.Inf(1), 4}, // below the range of float32
	{"exp2", ops.Exp2, math.Exp2, -126, 127, 1.5, 2},
	{"exp2 far", ops.Exp2, math.Exp2, -1000, 1000, math.Inf(1), 2},
	{"cbrt", ops.Cbrt, math.Cbrt, -1e30, 1e30, 2, 2},
	{"softplus", ops.Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, -80, 80, 2, 3},
	{"sinh", ops.Sinh, math.Sinh, -80, 80, 2, 4},
	{"tanh", ops.Tanh, math.Tanh, -20, 20, 2, 3},
}

// TestFunctionsKeepTheirPlaces compares functions with those of package math, at numbers of all magnitudes.
func TestFunctionsKeepTheirPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 60))
	for _, c := range composed {
		var xs []float64
		for range 4000 {
			x := float64(float32(c.low + (c.high-c.low)*r.Float64()))
			if size := math.Exp2(-20 + 120*r.Float64()); r.IntN(2) == 0 && size < c.high && -size > c.low {
				x = float64(float32(math.Copysign(size, r.Float64()-0.5)))
			} else if r.IntN(2) == 0 && size < c.high && size > c.low {
				x = float64(float32(size))
			}
			xs = append(xs, x)
		}
		for _, d := range []struct {
			dtype       ir.DType
			bits        int
			least, most float64
		}{{ir.Float32, 24, 0x1p-126, c.single}, {ir.Float64, 53, 0x1p-1022, c.wider}} {
			x := opstest.Floats([]int{len(xs)}, xs...)
			x.DType = d.dtype
			got := opstest.EvalOn(t, "cpu", unary(c.f), x)[0].F
			worst, at := 0.0, 0
			for i, x := range xs {
				want := c.want(x)
				if _, e := math.Frexp(want); math.Abs(want) >= d.least {
					if error := math.Abs(got[i]-want) / math.Ldexp(1, e-d.bits); !(error <= worst) {
						worst, at = error, i
					}
				}
			}
			require.LessOrEqual(t, worst, d.most, "%s(%v) of %v is %v, want %v", c.name, xs[at], d.dtype, got[at], c.want(xs[at]))
		}
	}
}

// TestEndsOfFunctions: results that have no digits.
func TestEndsOfFunctions(t *testing.T) {
	inf, zero := math.Inf(1), math.Copysign(0, -1)
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		x := opstest.Floats([]int{7}, -inf, -2000, zero, 0, 2000, inf, math.NaN()).As(d)
		for name, c := range map[string]struct {
			f    func(x *ops.Tensor) *ops.Tensor
			want []float64
		}{
			"erfc": {ops.Erfc, []float64{2, 2, 1, 1, 0, 0}},
			"exp2": {ops.Exp2, []float64{0, 0, 1, 1, inf, inf}},
			"cbrt": {ops.Cbrt, []float64{-inf, math.Cbrt(-2000), zero, 0, math.Cbrt(2000), inf}},
		} {
			got := opstest.EvalOn(t, "cpu", unary(c.f), x)[0].F
			for i, want := range c.want {
				require.True(t, want == got[i] || math.Abs(want-got[i]) < 1e-5, "%s %v: %v", name, d, got)
				require.Equal(t, math.Signbit(want), math.Signbit(got[i]), "%s %v: %v", name, d, got)
			}
			require.True(t, math.IsNaN(got[6]), "%s %v: %v", name, d, got)
		}
	}
}

// TestSlopeOfSinc: near 0 the two terms of the slope are equal to float32 precision.
func TestSlopeOfSinc(t *testing.T) {
	var xs []float64
	for e := -60.0; e < 5; e += 0.17 {
		xs = append(xs, float64(float32(math.Exp2(e))), -float64(float32(math.Exp2(e))))
	}
	x := opstest.Floats([]int{len(xs)}, xs...)
	x.DType = ir.Float32
	slope := func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return ops.Grad(ops.Sum(ops.Sinc(in[0])), in...) }
	got := opstest.EvalOn(t, "cpu", slope, x)[0].F
	for i, x := range xs {
		u := math.Pi * math.Pi * x * x
		want := -math.Pi * math.Pi * x / 3 * (1 - u/10)
		if math.Abs(x) > 0.01 {
			want = (math.Cos(math.Pi*x) - math.Sin(math.Pi*x)/(math.Pi*x)) / x
		}
		require.InDelta(t, want, got[i], 1e-6*math.Abs(want)+1e-6*min(1, math.Abs(x)), "%v", x)
	}
}

// TestIntegersAreFinite: no number of an integer type is NaN or infinite, and reductions know that.
func TestIntegersAreFinite(t *testing.T) {
	for _, d := range []ir.DType{ir.Bool, ir.Uint8, ir.Int8, ir.Int32, ir.Int64} {
		for _, list := range [][]float64{{1, 0, 1}, {0, 0, 0}, {1, 1, 1}} {
			x := opstest.Floats([]int{3}, list...).As(d)
			got := opstest.EvalOn(t, "cpu", func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				x := in[0]
				return []*ops.Tensor{ops.Isfinite(x), ops.Isnan(x), ops.Isinf(x), ops.Isposinf(x), ops.Isneginf(x),
					ops.Nanmax(x), ops.Nanmin(x), ops.Nanprod(x), ops.Max(x), ops.Min(x), ops.Prod(x)}
			}, x)
			least, most := min(list[0], list[1]), max(list[0], list[1])
			for i, want := range []float64{1, 0, 0, 0, 0, most, least, least, most, least, least} {
				for _, y := range got[i].F {
					require.Equal(t, want, y, "%v %v %d", d, list, i)
				}
			}
		}
	}
}
