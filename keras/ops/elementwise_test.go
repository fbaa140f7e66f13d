package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

func init() {
	unaries := []struct {
		name      string
		f         func(*ops.Tensor) *ops.Tensor
		low, high float64
	}{
		{"negative", ops.Negative, -2, 2},
		{"abs", ops.Abs, 0.1, 2},
		{"abs below zero", ops.Abs, -2, -0.1},
		{"exp", ops.Exp, -2, 2},
		{"expm1", ops.Expm1, -2, 2},
		{"log", ops.Log, 0.3, 3},
		{"log1p", ops.Log1p, -0.6, 2},
		{"sqrt", ops.Sqrt, 0.3, 3},
		{"rsqrt", ops.Rsqrt, 0.3, 3},
		{"square", ops.Square, -2, 2},
		{"reciprocal", ops.Reciprocal, 0.5, 2},
		{"sin", ops.Sin, -3, 3},
		{"cos", ops.Cos, -3, 3},
		{"tan", ops.Tan, -1, 1},
		{"arcsin", ops.Arcsin, -0.8, 0.8},
		{"arccos", ops.Arccos, -0.8, 0.8},
		{"arctan", ops.Arctan, -3, 3},
		{"sinh", ops.Sinh, -2, 2},
		{"cosh", ops.Cosh, -2, 2},
		{"arcsinh", ops.Arcsinh, -2, 2},
		{"arccosh", ops.Arccosh, 1.4, 3},
		{"arctanh", ops.Arctanh, -0.7, 0.7},
		{"tanh", ops.Tanh, -2, 2},
		{"sigmoid", ops.Sigmoid, -4, 4},
		{"erf", ops.Erf, -2, 2},
		{"erfinv", ops.Erfinv, -0.8, 0.8},
		{"lgamma", ops.Lgamma, 0.6, 6},
		{"lgamma small", ops.Lgamma, 0.2, 0.5},
		{"lgamma below zero", ops.Lgamma, -1.8, -1.2},
		{"digamma", ops.Digamma, 0.6, 6},
		{"relu", ops.Relu, 0.1, 2},
		{"relu below zero", ops.Relu, -2, -0.1},
	}
	for i, u := range unaries {
		for _, shape := range [][]int{{3}, {2, 1, 3}, {}, {0, 2}} {
			in := opstest.Random(i, u.low, u.high, shape...)
			addCase(caseName(u.name, in), true, unary(u.f), in)
		}
	}

	// Each op of one operand, at numbers of the domain used to test backends: a new op needs no case here.
	domains := kernelstest.UnaryDomains()
	for _, op := range ir.Ops() {
		domain, ok := domains[op]
		if !ok {
			continue
		}
		in := opstest.Normal(int(op), 7)
		for i, x := range in.F {
			in.F[i] = domain(x)
		}
		addCase("op "+op.String(), false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.ApplyUnary(op, x) }), in)
	}

	positive := func(seed int, shape ...int) opstest.Array { return opstest.Random(seed, 0.5, 2, shape...) }
	binaries := []struct {
		name string
		f    func(a, b *ops.Tensor) *ops.Tensor
		in   func(seed int, shape ...int) opstest.Array
	}{
		{"add", ops.Add, opstest.Normal},
		{"subtract", ops.Subtract, opstest.Normal},
		{"multiply", ops.Multiply, opstest.Normal},
		{"divide", ops.Divide, positive},
		{"divide no NaN", ops.DivideNoNan, positive},
		{"power", ops.Power, positive},
		{"maximum", ops.Maximum, opstest.Normal},
		{"minimum", ops.Minimum, opstest.Normal},
		{"arctan2", ops.Arctan2, opstest.Normal},
		{"logaddexp", ops.Logaddexp, opstest.Normal},
		{"mod", ops.Mod, positive},
	}
	shapes := [][2][]int{{{3}, {3}}, {{2, 1, 3}, {4, 1}}, {{}, {2, 2}}, {{2, 2}, {}}, {{0, 3}, {1, 3}}, {{1}, {1}}, {{5, 1}, {1, 1}}}
	for i, b := range binaries {
		for j, s := range shapes {
			in := []opstest.Array{b.in(2*i+50*j, s[0]...), b.in(2*i+50*j+1, s[1]...)}
			addCase(caseName(b.name, in...), true, binary(b.f), in...)
		}
	}
	addCase("twice the same operand", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Divide(ops.Multiply(x, x), ops.Exp(x)) }), opstest.Normal(1, 3))
	addCase("where", true, ternary(ops.Where), opstest.Bools([]int{2, 1}, 1, 0), opstest.Normal(1, 2, 3), opstest.Normal(2, 3))
	addCase("where, same branch", true, binary(func(c, x *ops.Tensor) *ops.Tensor { return ops.Where(c, ops.Square(x), x) }), opstest.Bools([]int{2}, 1, 0), opstest.Normal(1, 2))
	addCase("clip", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Clip(x, -1, 1) }), opstest.Floats([]int{5}, -3, -0.9, 0.1, 0.9, 1.5))
	addCase("scalars", true, unary(func(x *ops.Tensor) *ops.Tensor {
		y := ops.DivideScalar(ops.SubtractScalar(ops.AddScalar(ops.MultiplyScalar(x, 3), 2), 1), 4)
		return ops.PowerScalar(ops.MaximumScalar(ops.MinimumScalar(y, 5), -5), 3)
	}), opstest.Normal(4, 2, 2))
	addCase("remainder", false, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Mod(in[0], in[1])}
	}, opstest.Floats([]int{4}, 5.3, -5.3, 5.3, -5.3), opstest.Floats([]int{4}, 2, 2, -2, -2))
}

// gradientAt returns value and gradient of f at each element of x.
func gradientAt(t *testing.T, f func(x *ops.Tensor) *ops.Tensor, x ...float64) (y, dx []float64) {
	t.Helper()
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		y := f(in[0])
		return []*ops.Tensor{y, ops.Grad(y, in[0])[0]}
	}, opstest.Floats([]int{len(x)}, x...))
	return out[0].F, out[1].F
}

// Subgradients at kinks and limits are JAX's.
func TestGradientsAtKinks(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name string
		f    func(x *ops.Tensor) *ops.Tensor
		at   float64
		want float64
	}{
		{"abs", ops.Abs, 0, 0},
		{"relu", ops.Relu, 0, 0},
		{"maximum tie", func(x *ops.Tensor) *ops.Tensor { return ops.MaximumScalar(x, 1) }, 1, 0.5},
		{"minimum tie", func(x *ops.Tensor) *ops.Tensor { return ops.MinimumScalar(x, 1) }, 1, 0.5},
		{"clip", func(x *ops.Tensor) *ops.Tensor { return ops.Clip(x, -1, 1) }, -1, 0.5},
		{"sqrt", ops.Sqrt, 0, inf},
		{"0 to the power 2", func(x *ops.Tensor) *ops.Tensor { return ops.PowerScalar(x, 2) }, 0, 0},
		{"0 to the power 1", func(x *ops.Tensor) *ops.Tensor { return ops.PowerScalar(x, 1) }, 0, 1},
		{"0 to the power 0", func(x *ops.Tensor) *ops.Tensor { return ops.PowerScalar(x, 0) }, 0, 0},
		{"2 to the power 0", func(x *ops.Tensor) *ops.Tensor { return ops.PowerScalar(x, 0) }, 2, 0},
		{"0 to the power x", func(x *ops.Tensor) *ops.Tensor { return ops.Power(ops.ZerosLike(x), x) }, 2, 0},
		{"divide no NaN", func(x *ops.Tensor) *ops.Tensor { return ops.DivideNoNan(ops.OnesLike(x), x) }, 0, 0},
		{"l2 normalize", func(x *ops.Tensor) *ops.Tensor { return ops.L2Normalize(x, 0, 0.5) }, 0, 2},
		{"sigmoid far out", ops.Sigmoid, -1000, 0},
		{"where, other branch infinite", func(x *ops.Tensor) *ops.Tensor { return ops.Where(ops.CompareScalar(ir.Gt, x, 0), ops.Log(x), x) }, 2, 0.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, dx := gradientAt(t, test.f, test.at)
			require.Equal(t, test.want, dx[0])
		})
	}
	// The slope of x^0 is 0 everywhere, and so is the slope of the slope.
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return ops.Grad(ops.Grad(ops.PowerScalar(in[0], 0), in[0])[0], in[0])
	}, opstest.Scalar(0))
	require.Equal(t, []float64{0}, out[0].F)
}

// The gradient of a cast has the type of the operand. (The rounding of a cast makes differences useless.)
func TestCastGradient(t *testing.T) {
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		y := ops.Multiply(ops.Cast(in[0], ir.Float32), ops.Cast(in[1], ir.BFloat16))
		return append(ops.Grad(y, in...), y)
	}, opstest.Floats([]int{1}, 1.5), opstest.Floats([]int{1}, 0.25))
	require.Equal(t, []float64{0.25}, out[0].F)
	require.Equal(t, []float64{1.5}, out[1].F)
	require.Equal(t, ir.Float64, out[1].DType)
	require.Equal(t, ir.Float32, out[2].DType)
}

func TestIntegerArithmetic(t *testing.T) {
	a := opstest.Ints([]int{8}, 7, -7, 7, -7, 6, 0, 5, -5)
	b := opstest.Ints([]int{8}, 2, 2, -2, -2, 3, 3, 0, 0)
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.FloorDivide(in[0], in[1]), ops.Mod(in[0], in[1]), ops.Divide(in[0], in[1])}
	}, a, b)
	require.Equal(t, []float64{3, -4, -4, 3, 2, 0, 0, 0}, out[0].F)
	require.Equal(t, []float64{1, 1, -1, -1, 0, 0, 0, 0}, out[1].F)
	require.Equal(t, ir.Float32, out[2].DType)
	require.Equal(t, []float64{3.5, -3.5, -3.5, 3.5, 2, 0, math.Inf(1), math.Inf(-1)}, out[2].F)
}

// Numbers that the integer type of a tensor cannot represent. Sums and products are Keras's, which wrap around;
// quotients and comparisons are those of the numbers.
func TestScalarsBesideIntegers(t *testing.T) {
	of := func(d ir.DType) opstest.Array { return opstest.Ints([]int{2}, 0, 3).As(d) }
	for _, c := range []struct {
		name string
		x    opstest.Array
		f    func(x *ops.Tensor) *ops.Tensor
		want []float64
	}{
		{"uint8 + -1", of(ir.Uint8), func(x *ops.Tensor) *ops.Tensor { return ops.AddScalar(x, -1) }, []float64{255, 2}},
		{"int8 + 200", of(ir.Int8), func(x *ops.Tensor) *ops.Tensor { return ops.AddScalar(x, 200) }, []float64{-56, -53}},
		{"int8 * 300", of(ir.Int8), func(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, 300) }, []float64{0, -124}},
		{"uint8 - -1", of(ir.Uint8), func(x *ops.Tensor) *ops.Tensor { return ops.SubtractScalar(x, -1) }, []float64{1, 4}},
		{"int32 / 0.5", of(ir.Int32), func(x *ops.Tensor) *ops.Tensor { return ops.DivideScalar(x, 0.5) }, []float64{0, 6}},
		{"uint8 / -2", of(ir.Uint8), func(x *ops.Tensor) *ops.Tensor { return ops.DivideScalar(x, -2) }, []float64{0, -1.5}},
		{"uint8 > -1", of(ir.Uint8), func(x *ops.Tensor) *ops.Tensor { return ops.CompareScalar(ir.Gt, x, -1) }, []float64{1, 1}},
		{"uint8 == -1", of(ir.Uint8), func(x *ops.Tensor) *ops.Tensor { return ops.CompareScalar(ir.Eq, x, -1) }, []float64{0, 0}},
		{"int32 >= 0.5", of(ir.Int32), func(x *ops.Tensor) *ops.Tensor { return ops.CompareScalar(ir.Ge, x, 0.5) }, []float64{0, 1}},
		{"int8 < 300", of(ir.Int8), func(x *ops.Tensor) *ops.Tensor { return ops.CompareScalar(ir.Lt, x, 300) }, []float64{1, 1}},
	} {
		out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{c.f(in[0])} }, c.x)
		require.Equal(t, c.want, out[0].F, c.name)
	}
}
