package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// accuracy is a function of one number in float32, with float64 formulas for it and its slope that subtract nothing.
type accuracy struct {
	name        string
	f           func(x *ops.Tensor) *ops.Tensor
	want, slope func(x float64) float64
	low, high   float64
	most, steep float64 // allowed errors of the function and of its slope, in units in the last place
}

var accuracies = []accuracy{
	{"expm1", ops.Expm1, math.Expm1, math.Exp, -87, 88, 2, 2},
	{"exp2", ops.Exp2, math.Exp2, func(x float64) float64 { return math.Ln2 * math.Exp2(x) }, -125, 127, 1.5, 2.5},
	{"elu", func(x *ops.Tensor) *ops.Tensor { return ops.Elu(x, 1.5) },
		func(x float64) float64 { return max(x, 0) + 1.5*math.Expm1(min(x, 0)) }, below(func(x float64) float64 { return 1.5 * math.Exp(x) }, 1), -86, 1e30, 2, 2},
	{"celu", func(x *ops.Tensor) *ops.Tensor { return ops.Celu(x, 1) },
		func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) }, below(math.Exp, 1), -86, 1e30, 2, 2},
	{"selu", func(x *ops.Tensor) *ops.Tensor { return ops.Selu(x) }, func(x float64) float64 {
		return 1.0507009873554805 * (max(x, 0) + 1.6732632423543772*math.Expm1(min(x, 0)))
	}, below(func(x float64) float64 { return 1.0507009873554805 * 1.6732632423543772 * math.Exp(x) }, 1.0507009873554805), -86, 1e30, 2.5, 2.5},
	{"celu 0.7", func(x *ops.Tensor) *ops.Tensor { return ops.Celu(x, 0.7) },
		func(x float64) float64 { return max(x, 0) + 0.7*math.Expm1(min(x, 0)/0.7) }, below(func(x float64) float64 { return math.Exp(x / 0.7) }, 1), -60, 1e30, 3, 2.5},
	{"celu 3e5", func(x *ops.Tensor) *ops.Tensor { return ops.Celu(x, 3e5) },
		func(x float64) float64 { return max(x, 0) + 3e5*math.Expm1(min(x, 0)/3e5) }, below(func(x float64) float64 { return math.Exp(x / 3e5) }, 1), -2.5e7, 1e30, 3, 2.5},
	{"erfc", ops.Erfc, math.Erfc, nil, -9, 9, 2.5, 0},
	{"gelu", func(x *ops.Tensor) *ops.Tensor { return ops.Gelu(x, false) }, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, nil, -12.9, 1e30, 6.5, 0},
	{"i0", ops.I0, func(x float64) float64 { return besselSeries(x, 0) }, func(x float64) float64 { return besselSeries(x, 1) }, -88, 88, 4.5, 4.5},
	{"digamma", ops.Digamma, digamma, nil, 0.5, 1e30, 4.5, 0},
	{"lgamma", ops.Lgamma, func(x float64) float64 { y, _ := math.Lgamma(x); return y }, digamma, 0.5, 1e30, 2, 4.5},
	{"squareplus", func(x *ops.Tensor) *ops.Tensor { return ops.Squareplus(x, 4) }, func(x float64) float64 { return (x + math.Sqrt(x*x+4)) / 2 },
		func(x float64) float64 { return (1 + x/math.Sqrt(x*x+4)) / 2 }, 0, 1e38, 2.5, 2.5},
	{"logaddexp2", func(x *ops.Tensor) *ops.Tensor { return ops.Logaddexp2(x, ops.FullLike(x, 0.5)) },
		func(x float64) float64 { return math.Log2(math.Exp2(x) + math.Sqrt2) }, nil, 0, 100, 2.5, 0},
}

// below is f for numbers that are not positive, and a constant for positive ones.
func below(f func(x float64) float64, positive float64) func(x float64) float64 {
	return func(x float64) float64 {
		if x > 0 {
			return positive
		}
		return f(x)
	}
}

// besselSeries is Σ (x/2)^(2k+order) / (k!·(k+order)!), whose terms have the same sign.
func besselSeries(x float64, order int) float64 {
	term := math.Pow(x/2, float64(order))
	sum := term
	for k := 1.0; math.Abs(term) > math.Abs(sum)*1e-18; k++ {
		term *= x * x / 4 / (k * (k + float64(order)))
		sum += term
	}
	return sum
}

// digamma is log(x) - 1/(2x) - ... for large x, reached by steps of the recurrence; the error in float64 is 1e-15.
func digamma(x float64) float64 {
	steps := 0.0
	for ; x < 20; x++ {
		steps += 1 / x
	}
	u := 1 / (x * x)
	return math.Log(x) - 0.5/x - u*(1.0/12-u*(1.0/120-u*(1.0/252-u*(1.0/240-u*(1.0/132-u*691/32760))))) - steps
}

// place is the unit in the last place of float32 at y.
func place(y float64) float64 {
	_, e := math.Frexp(y)
	return math.Ldexp(1, max(e, -125)-24)
}

// TestDigitsOfFunctions looks for numbers of all magnitudes at which the error of a function or its gradient exceeds
// the rounding errors of its steps in float32.
func TestDigitsOfFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 20))
	for _, c := range accuracies {
		xs := c.numbers(r)
		got := opstest.EvalOn(t, "cpu", func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			y := c.f(in[0])
			return []*ops.Tensor{y, ops.Grad(ops.Sum(y), in...)[0]}
		}, opstest.Floats([]int{len(xs)}, xs...).As(ir.Float32))
		check := func(what string, got []float64, want func(float64) float64, most float64) {
			worst, at := 0.0, 0
			for i, x := range xs {
				y := want(x)
				if math.Abs(y) < 0x1p-125 { // partly flushed to 0
					continue
				}
				off := math.Abs(got[i]-y) / place(y)
				if math.IsNaN(off) {
					off = math.Inf(1)
				}
				if off > worst {
					worst, at = off, i
				}
			}
			assert.LessOrEqual(t, worst, most, "%s(%v) is %v, want %v", what, xs[at], got[at], want(xs[at]))
		}
		check(c.name, got[0].F, c.want, c.most)
		if c.slope != nil {
			check("slope of "+c.name, got[1].F, c.slope, c.steep)
		}
	}
}

// numbers are spread evenly between the bounds, and over all magnitudes up to them.
func (c accuracy) numbers(r *rand.Rand) (xs []float64) {
	for range 3000 {
		size := math.Exp2(-20 + 26*r.Float64())
		high := math.Exp2(math.Log2(max(-c.low, c.high)) * r.Float64())
		for _, x := range []float64{c.low + (c.high-c.low)*r.Float64(), size, -size, high, -high} {
			if x = float64(float32(x)); x > c.low && x < c.high {
				xs = append(xs, x)
			}
		}
	}
	return xs
}
