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

// slopes are functions of one number with float64 formulas for their slopes that subtract nothing. Those of tanh,
// sigmoid, silu, mish and gelu are missing, as they are differences of values that the forward pass has kept. So is
// that of squareplus, whose terms cancel below 0 as in Keras.
var slopes = []struct {
	name string
	f    func(x *ops.Tensor) *ops.Tensor
	want func(x float64) float64
}{
	{"exp", ops.Exp, math.Exp},
	{"exp2", ops.Exp2, func(x float64) float64 { return math.Ln2 * math.Exp2(x) }},
	{"log", ops.Log, func(x float64) float64 { return 1 / x }},
	{"log1p", ops.Log1p, func(x float64) float64 { return 1 / (1 + x) }},
	{"log2", ops.Log2, func(x float64) float64 { return 1 / (x * math.Ln2) }},
	{"log10", ops.Log10, func(x float64) float64 { return 1 / (x * math.Ln10) }},
	{"sqrt", ops.Sqrt, func(x float64) float64 { return 0.5 / math.Sqrt(x) }},
	{"rsqrt", ops.Rsqrt, func(x float64) float64 { return -0.5 / (math.Sqrt(x) * x) }},
	{"reciprocal", ops.Reciprocal, func(x float64) float64 { return -1 / (x * x) }},
	{"cbrt", ops.Cbrt, func(x float64) float64 { return 1 / (3 * math.Cbrt(x) * math.Cbrt(x)) }},
	{"sin", ops.Sin, math.Cos},
	{"cos", ops.Cos, func(x float64) float64 { return -math.Sin(x) }},
	{"tan", ops.Tan, func(x float64) float64 { return 1 / (math.Cos(x) * math.Cos(x)) }},
	{"arcsin", ops.Arcsin, func(x float64) float64 { return 1 / math.Sqrt((1-x)*(1+x)) }},
	{"arccos", ops.Arccos, func(x float64) float64 { return -1 / math.Sqrt((1-x)*(1+x)) }},
	{"arctan", ops.Arctan, func(x float64) float64 { return 1 / (1 + x*x) }},
	{"sinh", ops.Sinh, math.Cosh},
	{"cosh", ops.Cosh, math.Sinh},
	{"arcsinh", ops.Arcsinh, func(x float64) float64 { return 1 / math.Sqrt(x*x+1) }},
	{"arccosh", ops.Arccosh, func(x float64) float64 { return 1 / (math.Sqrt(x-1) * math.Sqrt(x+1)) }},
	{"arctanh", ops.Arctanh, func(x float64) float64 { return 1 / ((1 - x) * (1 + x)) }},
	{"softplus", ops.Softplus, logistic},
	{"log_sigmoid", ops.LogSigmoid, func(x float64) float64 { return logistic(-x) }},
	{"softsign", ops.Softsign, func(x float64) float64 { return 1 / ((1 + math.Abs(x)) * (1 + math.Abs(x))) }},
	{"tanh_shrink", ops.TanhShrink, func(x float64) float64 { return math.Tanh(x) * math.Tanh(x) }},
	{"logaddexp", func(x *ops.Tensor) *ops.Tensor { return ops.Logaddexp(x, ops.ZerosLike(x)) }, logistic},
	{"logaddexp2", func(x *ops.Tensor) *ops.Tensor { return ops.Logaddexp2(x, ops.ZerosLike(x)) },
		func(x float64) float64 { return logistic(x * math.Ln2) }},
	{"hypot", func(x *ops.Tensor) *ops.Tensor { return ops.Hypot(x, ops.FullLike(x, 3)) }, func(x float64) float64 { return x / math.Hypot(x, 3) }},
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TestSlopesOfAllSizes compares gradients in float32, at numbers of all magnitudes and near 0 and ±1, with those
// formulas.
func TestSlopesOfAllSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 2))
	var xs []float64
	for range 4000 {
		near := math.Copysign(1, r.Float64()-0.5)
		for _, x := range []float64{float64(math.Float32frombits(r.Uint32())), 200*r.Float64() - 100, 20*r.Float64() - 10, 2*r.Float64() - 1,
			near - near*math.Exp2(-24*r.Float64()), near + near*math.Exp2(-23*r.Float64())} {
			if x = float64(float32(x)); math.Abs(x) >= 0x1p-126 && math.Abs(x) <= math.MaxFloat32 {
				xs = append(xs, x)
			}
		}
	}
	for _, c := range slopes {
		got := opstest.EvalOn(t, "cpu", func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			return ops.Grad(ops.Sum(c.f(in[0])), in...)
		}, opstest.Floats([]int{len(xs)}, xs...).As(ir.Float32))[0].F
		worst, at := 0.0, 0
		for i, x := range xs {
			want := c.want(x)
			if !(math.Abs(want) > 0x1p-125 && math.Abs(want) < 0.999*math.MaxFloat32) { // including where there is no slope
				continue
			}
			off := math.Abs(got[i]-want) / place(want)
			if math.IsNaN(off) {
				off = math.Inf(1)
			}
			if off > worst {
				worst, at = off, i
			}
		}
		assert.LessOrEqual(t, worst, 4.5, "the slope of %s at %v is %v, want %v", c.name, xs[at], got[at], c.want(xs[at]))
	}
}
