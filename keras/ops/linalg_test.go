package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	square, right := opstest.Normal(1, 4, 4), opstest.Normal(2, 4, 3)
	definite := func(x *ops.Tensor) *ops.Tensor {
		n := x.Dim(-1)
		return ops.Add(ops.Matmul(x, ops.SwapAxes(x, -1, -2)), ops.Identity(x, x.DType(), n))
	}
	addCase("solve", true, binary(ops.Solve), square, right)
	addCase("solve stack", false, binary(ops.Solve), opstest.Normal(3, 2, 3, 3), opstest.Normal(4, 3, 2))
	addCase("solve vector", false, binary(ops.Solve), square, opstest.Normal(5, 4))
	addCase("inv", true, unary(ops.Inv), square)
	addCase("det", true, unary(ops.Det), square)
	addCase("det of one", true, unary(ops.Det), opstest.Normal(15, 3, 1, 1))
	addCase("det of two", true, unary(ops.Det), opstest.Normal(16, 3, 2, 2))
	addCase("det of three", true, unary(ops.Det), opstest.Normal(17, 2, 3, 3))
	addCase("slogdet", false, unary(func(x *ops.Tensor) *ops.Tensor { _, l := ops.Slogdet(x); return l }), opstest.Normal(6, 2, 3, 3))
	addCase("slogdet of one", true, unary(func(x *ops.Tensor) *ops.Tensor { _, l := ops.Slogdet(x); return l }), opstest.Normal(18, 3, 1, 1))
	addCase("slogdet of two", true, unary(func(x *ops.Tensor) *ops.Tensor { _, l := ops.Slogdet(x); return l }), opstest.Normal(19, 9, 2, 2))
	addCase("solve triangular", false, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.SolveTriangular(a, b, true) }), square, right)
	addCase("solve triangular upper", false, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.SolveTriangular(a, b, false) }), square, right)
	addCase("cholesky", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Cholesky(definite(x), false) }), square)
	addCase("cholesky upper", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Cholesky(definite(x), true) }), opstest.Normal(7, 2, 3, 3))
	addCase("cholesky inverse", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.CholeskyInverse(x, false) }), square)
	addCase("matrix power", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.MatrixPower(x, 5) }), square)
	addCase("matrix power negative", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.MatrixPower(x, -2) }), square)
	for _, shape := range [][]int{{4, 4}, {5, 3}, {2, 4}, {2, 3, 2}} {
		addCase(fmt.Sprint("qr ", shape), false, func(_ *ops.Graph, in tensors) tensors {
			q, r := ops.Qr(in[0], false)
			return tensors{q, r}
		}, opstest.Normal(8, shape...))
	}
	for _, order := range []float64{1, 2, 3, math.Inf(1), math.Inf(-1)} {
		addCase(fmt.Sprint("vector norm ", order), false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.VectorNorm(x, order, 1) }), opstest.Normal(9, 3, 4))
	}
	for _, order := range []float64{1, -1, math.Inf(1), math.Inf(-1)} {
		addCase(fmt.Sprint("matrix norm ", order), false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.MatrixNorm(x, order, 2, 0) }), opstest.Normal(10, 3, 2, 4))
	}
	addCase("linspace of", false, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.LinspaceOf(a, b, 4, false) }), opstest.Normal(11, 2, 3), opstest.Normal(12, 3))
	addCase("repeat each", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.RepeatEach(x, []int{2, 0, 3}, 1) }), opstest.Normal(13, 2, 3))
	addCase("diagonal at", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.DiagonalAt(x, -1, 0, 1) }), opstest.Normal(14, 4, 3))
	addCase("fmod", false, binary(ops.Fmod), opstest.Floats([]int{4}, -7.3, 7.3, -7.3, 7.3), opstest.Floats([]int{4}, 2.1, 2.1, -2.1, -2.1))
}

// TestFactors checks for matrices of many sizes that the product of the factors is the matrix, and that they have the
// right form.
func TestFactors(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 16, 33} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := opstest.Normal(n, n, n)
			for i := range n { // large rows below small ones: this requires pivoting
				for j := range n {
					x.F[i*n+j] *= math.Pow(10, float64(i%3)-2)
				}
			}
			got := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
				a := in[0]
				q, r := ops.Qr(a, false)
				spd := ops.Add(ops.Matmul(a, ops.Transpose(a)), ops.Identity(g, ir.Float64, n))
				l := ops.Cholesky(spd, false)
				return tensors{
					ops.Matmul(a, ops.Inv(a)), ops.Matmul(ops.Transpose(q), q), ops.Identity(g, ir.Float64, n),
					ops.Matmul(q, r), a,
					ops.Matmul(l, ops.Transpose(l)), spd,
					ops.Triu(l, 1), ops.Tril(r, -1), ops.ZerosLike(a),
				}
			}, x)
			opstest.Near(t, "a·a⁻¹", got[0], got[2], 0, 1e-8)
			opstest.Near(t, "qᵀ·q", got[1], got[2], 0, 1e-12)
			opstest.Near(t, "q·r", got[3], got[4], 1e-12, 1e-12)
			opstest.Near(t, "l·lᵀ", got[5], got[6], 1e-12, 1e-12)
			opstest.Near(t, "above l", got[7], got[9], 0, 0)
			opstest.Near(t, "below r", got[8], got[9], 0, 0)
		})
	}
}

// The last pivot of a matrix with condition number 15,000 is a difference of numbers a hundred times as large; the
// factor is NumPy's in float64.
func TestCholeskyOfFloat32(t *testing.T) {
	x := opstest.Floats([]int{3, 3}, 1.2776089906692505, 1.134250521659851, 1.220535159111023, 1.134250521659851, 1.0135778188705444, 1.056012749671936,
		1.220535159111023, 1.056012749671936, 1.2911300659179688)
	l := opstest.EvalOn(t, "cpu", unary(func(x *ops.Tensor) *ops.Tensor { return ops.Cholesky(x, false) }), x.As(ir.Float32))[0]
	require.Equal(t, ir.Float32, l.DType)
	require.InDeltaSlice(t, []float64{1.130313669150847, 0, 0, 1.0034829734581212, 0.0812387890738907, 0, 1.0798198698490085, -0.33934656630878507, 0.09981494142500144}, l.F, 1e-7)
}

func TestSpecialMatrices(t *testing.T) {
	singular := opstest.Floats([]int{2, 2}, 1, 2, 2, 4)
	got := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		sign, logarithm := ops.Slogdet(in[0])
		return tensors{ops.Det(in[0]), sign, logarithm}
	}, singular)
	require.Equal(t, 0.0, got[0].F[0])
	require.Equal(t, 0.0, got[1].F[0])
	require.True(t, math.IsInf(got[2].F[0], -1))
	indefinite := opstest.Floats([]int{2, 2}, 1, 2, 2, 1)
	factor := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Cholesky(x, false) }), indefinite)
	require.True(t, math.IsNaN(factor[0].F[3]))
	empty := opstest.Eval(t, unary(ops.Det), opstest.Floats([]int{2, 0, 0}))
	require.Equal(t, []float64{1, 1}, empty[0].F)
	identity := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.MatrixPower(x, 0) }), singular)
	require.Equal(t, []float64{1, 0, 0, 1}, identity[0].F)
}

func TestLinearAlgebraErrors(t *testing.T) {
	x := opstest.Normal(1, 2, 3)
	for want, f := range map[string]func(x *ops.Tensor) *ops.Tensor{
		"inv: needs square":           ops.Inv,
		"det":                         ops.Det,
		"cholesky: needs square":      func(x *ops.Tensor) *ops.Tensor { return ops.Cholesky(x, false) },
		"needs a right side":          func(x *ops.Tensor) *ops.Tensor { return ops.Solve(ops.Matmul(ops.Transpose(x), x), x) },
		"qr: needs matrices":          func(x *ops.Tensor) *ops.Tensor { q, _ := ops.Qr(ops.Ravel(x), false); return q },
		"the order must be":           func(x *ops.Tensor) *ops.Tensor { return ops.MatrixNorm(x, 3, 0, 1) },
		"received axis 1 twice":       func(x *ops.Tensor) *ops.Tensor { return ops.MatrixNorm(x, 1, 1, -1) },
		"needs one count for each":    func(x *ops.Tensor) *ops.Tensor { return ops.RepeatEach(x, []int{1}, 1) },
		"the count must not be":       func(x *ops.Tensor) *ops.Tensor { return ops.LinspaceOf(x, x, -1, true) },
		"counts must not be negative": func(x *ops.Tensor) *ops.Tensor { return ops.RepeatEach(x, []int{1, -1}, 0) },
	} {
		assert.ErrorContains(t, opstest.EvalError(unary(f), x), want)
	}
}

func TestRounding(t *testing.T) {
	x := opstest.Floats([]int{6}, 1.25, -1.35, 1250, 1350, math.Copysign(0, -1), 0)
	got := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		return tensors{ops.RoundTo(in[0], 1), ops.RoundTo(in[0], -2), ops.Cast(ops.Signbit(in[0]), ir.Float64)}
	}, x)
	opstest.Near(t, "decimals", got[0], opstest.Floats([]int{6}, 1.2, -1.4, 1250, 1350, 0, 0), 1e-15, 0)
	opstest.Near(t, "hundreds", got[1], opstest.Floats([]int{6}, 0, 0, 1200, 1400, 0, 0), 1e-15, 0)
	require.Equal(t, []float64{0, 1, 0, 0, 1, 0}, got[2].F)
}

func ExampleSolve() {
	g := ops.NewGraph("example")
	a, b := g.Input("a", ir.Float32, 3, 3), g.Input("b", ir.Float32, 3, 2)
	fmt.Println(ops.Solve(a, b).Shape())
	// Output: [3 2]
}

// TestSlogdetOfSingularMatrices: the sign is 0 and the logarithm -Inf, as in NumPy; the determinant is 0.
func TestSlogdetOfSingularMatrices(t *testing.T) {
	x := opstest.Floats([]int{3, 2, 2}, 1, 2, 2, 4, 0, 0, 0, 0, 3, 1, 1, 2)
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		sign, logarithm := ops.Slogdet(in[0])
		return []*ops.Tensor{sign, logarithm, ops.Det(in[0])}
	}, x)
	require.Equal(t, []float64{0, 0, 1}, out[0].F)
	require.True(t, math.IsInf(out[1].F[0], -1) && math.IsInf(out[1].F[1], -1))
	require.InDelta(t, math.Log(5), out[1].F[2], 1e-12)
	require.InDeltaSlice(t, []float64{0, 0, 5}, out[2].F, 1e-12)
}

// TestSlogdetOfTwoRows compares with the determinants of the same matrices as corners of larger ones, which are
// computed by elimination, and with NumPy's results for large, infinite and NaN numbers.
func TestSlogdetOfTwoRows(t *testing.T) {
	x := opstest.Normal(21, 200, 2, 2)
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		sign, logarithm := ops.Slogdet(in[0])
		wide := ops.Add(ops.Pad(in[0], []int{0, 0, 0}, []int{0, 1, 1}, 0), ops.Pad(ops.FullLike(ops.Slice(in[0], []int{0, 0, 0}, []int{200, 1, 1}), 1), []int{0, 2, 2}, []int{0, 0, 0}, 0))
		all, logarithms := ops.Slogdet(wide)
		return []*ops.Tensor{sign, logarithm, all, logarithms}
	}, x)
	require.Equal(t, out[2].F, out[0].F)
	opstest.Near(t, "logarithm", out[1], out[3], 1e-12, 1e-12)
	inf, nan := math.Inf(1), math.NaN()
	special := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		sign, logarithm := ops.Slogdet(ops.Cast(in[0], ir.Float32))
		return []*ops.Tensor{ops.Cast(sign, ir.Float64), ops.Cast(logarithm, ir.Float64)}
	}, opstest.Floats([]int{4, 2, 2}, 1e30, 1, 1, 1e30, 1e-30, 0, 0, 1e-30, inf, 1, 1, 1, nan, 1, 1, 1))
	require.Equal(t, []float64{1, 1, 1}, special[0].F[:3])
	require.InDeltaSlice(t, []float64{60 * math.Ln10, -60 * math.Ln10}, special[1].F[:2], 1e-4)
	require.True(t, math.IsInf(special[1].F[2], 1) && math.IsNaN(special[0].F[3]) && math.IsNaN(special[1].F[3]))
}

// TestSmallDeterminants compares determinants of a few rows with those computed by elimination, and those of 16-bit
// floats with float64, in which the products of such numbers are exact.
func TestSmallDeterminants(t *testing.T) {
	for n := 1; n <= 3; n++ {
		out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			sign, logarithm := ops.Slogdet(in[0])
			x := ops.Cast(in[0], ir.BFloat16)
			return []*ops.Tensor{ops.Det(in[0]), ops.Multiply(sign, ops.Exp(logarithm)), ops.Cast(ops.Det(x), ir.Float64), ops.Det(ops.Cast(x, ir.Float64))}
		}, opstest.Normal(20+n, 40, n, n))
		opstest.Near(t, "elimination", out[0], out[1], 1e-12, 1e-12)
		opstest.Near(t, "bfloat16", out[2], out[3], 0x1p-8, 1e-6)
	}
}
