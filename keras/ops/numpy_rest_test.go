package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	addCase("i0", true, unary(ops.I0), opstest.Floats([]int{3}, -3, 0.5, 2))
	addCase("i0 scaled", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Multiply(ops.I0(x), ops.Exp(ops.Negative(ops.Abs(x)))) }), opstest.Floats([]int{3}, -30, 17, 19))
	addCase("exp2", true, unary(ops.Exp2), opstest.Floats([]int{4}, -3, -0.5, 0, 2))
	addCase("ldexp", false, binary(ops.Ldexp), opstest.Normal(1, 3), opstest.Ints([]int{3}, 2, 0, -3))
	addCase("correlate", true, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Correlate(a, b, "same") }), opstest.Normal(2, 3), opstest.Normal(3, 6))
	addCase("nanquantile", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Nanquantile(x, 0.3, 1) }), opstest.Normal(4, 2, 5))
	addCase("select", false, ternary(func(c, a, b *ops.Tensor) *ops.Tensor { return ops.Select([]*ops.Tensor{c}, []*ops.Tensor{a}, b) }), opstest.Bools([]int{3}, 1, 0, 1), opstest.Normal(5, 3), opstest.Normal(6, 3))
}

// TestLikeNumPy compares with the results of NumPy 2.
func TestLikeNumPy(t *testing.T) {
	nan := math.NaN()
	row := opstest.Floats([]int{1, 4}, 1, nan, 3, -0.5)
	a, b := opstest.Floats([]int{5}, 1, 2, 3, 4, 5), opstest.Floats([]int{3}, 1, 0.5, -2)
	correlate := func(mode string) opstest.Func {
		return binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Correlate(a, b, mode) })
	}
	window := func(f func(g *ops.Graph) *ops.Tensor) opstest.Func {
		return func(g *ops.Graph, _ []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{f(g)} }
	}
	for _, c := range []struct {
		name string
		fn   opstest.Func
		in   []opstest.Array
		want []float64
	}{
		{"i0", unary(ops.I0), []opstest.Array{opstest.Floats([]int{8}, 0, 0.5, 2, 9, 17.9, 18.1, 30, 100)}, []float64{1, 1.0634833707413234, 2.279585302336067, 1093.5883545113745, 5642579.560048393, 6853118.77696302, 781672297823.9775, 1.0737517071310738e+42}},
		{"gcd", binary(ops.Gcd), []opstest.Array{opstest.Ints([]int{4}, 12, 0, 7, -30), opstest.Ints([]int{4}, 18, 5, 0, 42)}, []float64{6, 5, 7, 6}},
		{"lcm", binary(ops.Lcm), []opstest.Array{opstest.Ints([]int{4}, 4, 0, 6, 21), opstest.Ints([]int{4}, 6, 5, 8, 6)}, []float64{12, 0, 24, 42}},
		{"gcd of the least number", binary(ops.Gcd), []opstest.Array{opstest.Ints([]int{3}, -6, -1<<31, 5), opstest.Ints([]int{3}, -1<<31, 6, -1<<31)}, []float64{2, 2, 1}},
		{"lcm beyond the type", binary(ops.Lcm), []opstest.Array{opstest.Ints([]int{2}, -6, 2), opstest.Ints([]int{2}, -1<<31, -1<<31)}, []float64{-1 << 31, -1 << 31}},
		{"valid", correlate("valid"), []opstest.Array{a, b}, []float64{-4, -4.5, -5}},
		{"valid turned", correlate("valid"), []opstest.Array{b, a}, []float64{-5, -4.5, -4}},
		{"same", correlate("same"), []opstest.Array{a, b}, []float64{-3.5, -4, -4.5, -5, 6.5}},
		{"same even", correlate("same"), []opstest.Array{a, opstest.Floats([]int{4}, 1, 2, 3, 4)}, []float64{11, 20, 30, 40, 26}},
		{"full", correlate("full"), []opstest.Array{a, b}, []float64{-2, -3.5, -4, -4.5, -5, 6.5, 5}},
		{"full turned", correlate("full"), []opstest.Array{b, a}, []float64{5, 6.5, -5, -4.5, -4, -3.5, -2}},
		{"nanquantile", unary(func(x *ops.Tensor) *ops.Tensor { return ops.Nanquantile(x, 0.3, 1) }), []opstest.Array{row}, []float64{0.4}},
		{"nanmedian", unary(func(x *ops.Tensor) *ops.Tensor { return ops.Nanmedian(x, 1) }), []opstest.Array{row}, []float64{1}},
		{"nanpercentile", unary(func(x *ops.Tensor) *ops.Tensor { return ops.Nanpercentile(x, 90, 1) }), []opstest.Array{row}, []float64{2.6}},
		{"nanargmax", unary(func(x *ops.Tensor) *ops.Tensor { return ops.Nanargmax(x, 1) }), []opstest.Array{opstest.Floats([]int{2, 2}, nan, 1, nan, nan)}, []float64{1, -1}},
		{"nancumsum", unary(func(x *ops.Tensor) *ops.Tensor { return ops.Nancumsum(x, 1) }), []opstest.Array{row}, []float64{1, 1, 4, 3.5}},
		{"angle", unary(ops.Angle), []opstest.Array{opstest.Floats([]int{8}, -1, 0, 2, math.Copysign(0, -1), math.Inf(-1), math.Inf(1), -3e38, -1e-30)}, []float64{math.Pi, 0, 0, math.Pi, math.Pi, 0, math.Pi, math.Pi}},
		{"bartlett", window(func(g *ops.Graph) *ops.Tensor { return ops.Bartlett(g, ir.Float64, 5) }), nil, []float64{0, 0.5, 1, 0.5, 0}},
		{"hanning", window(func(g *ops.Graph) *ops.Tensor { return ops.Hanning(g, ir.Float64, 5) }), nil, []float64{0, 0.5, 1, 0.5, 0}},
		{"hamming", window(func(g *ops.Graph) *ops.Tensor { return ops.Hamming(g, ir.Float64, 5) }), nil, []float64{0.08, 0.54, 1, 0.54, 0.08}},
		{"blackman", window(func(g *ops.Graph) *ops.Tensor { return ops.Blackman(g, ir.Float64, 5) }), nil, []float64{0, 0.34, 1, 0.34, 0}},
		{"kaiser", window(func(g *ops.Graph) *ops.Tensor { return ops.Kaiser(g, ir.Float64, 5, 6) }), nil, []float64{0.014873337104763207, 0.4829556064106269, 1, 0.4829556064106269, 0.014873337104763207}},
		{"one number", window(func(g *ops.Graph) *ops.Tensor { return ops.Kaiser(g, ir.Float64, 1, 6) }), nil, []float64{1}},
	} {
		got := opstest.Eval(t, c.fn, c.in...)
		opstest.Near(t, c.name, opstest.Floats([]int{len(c.want)}, got[0].F...), opstest.Floats([]int{len(c.want)}, c.want...), 1e-14, 1e-15)
	}
	assert.ErrorContains(t, opstest.EvalError(correlate("most"), a, b), `unknown mode "most"`)
	assert.ErrorContains(t, opstest.EvalError(binary(ops.Gcd), a, a), "needs whole numbers")
}

// TestLdexpIsExact: even if the power of 2 exceeds the type's range.
func TestLdexpIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 3))
	for d, most := range map[ir.DType]int{ir.Float16: 13, ir.Float32: 125, ir.Float64: 1021} {
		var xs, ns, want []float64
		for range 1000 {
			from, to := r.IntN(2*most)-most, r.IntN(2*most)-most
			xs = append(xs, math.Ldexp(r.NormFloat64(), from))
			xs[len(xs)-1] = opstest.Floats([]int{1}, xs[len(xs)-1]).As(d).F[0]
			ns = append(ns, float64(to-from))
			want = append(want, math.Ldexp(xs[len(xs)-1], to-from))
		}
		got := opstest.EvalOn(t, "cpu", binary(ops.Ldexp), opstest.Floats([]int{len(xs)}, xs...).As(d), opstest.Ints([]int{len(ns)}, ns...))[0].F
		for i, y := range got {
			if size := math.Abs(want[i]); size >= d.LeastNormal() && size <= d.Largest() && math.Abs(xs[i]) >= d.LeastNormal() {
				require.Equal(t, want[i], y, "%v: %v · 2^%v", d, xs[i], ns[i])
			}
		}
	}
}
