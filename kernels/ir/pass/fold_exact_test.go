package pass_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

func fold(t *testing.T, op ir.Op, attrs ir.Attrs, d ir.DType, x ...float64) (float64, bool) {
	t.Helper()
	p := ir.New("")
	var in []ir.Value
	var literals []ir.Literal
	for _, v := range x {
		in = append(in, p.AddInput("", ir.Type{DType: d}))
		literals = append(literals, ir.Scalar(d, v))
	}
	out, err := p.Add("", op, attrs, in...)
	require.NoError(t, err)
	data, ok := pass.FoldExact(p, literals)
	if !ok {
		return 0, false
	}
	return ir.Element(data, p.Type(out[0]).DType, 0), true
}

// Arithmetic is that of the type, rounded once; the numbers are those of Go's own float32 arithmetic.
func TestFoldExact(t *testing.T) {
	a, c := float32(0.1), float32(3.3)
	for _, x := range []struct {
		op   ir.Op
		want float32
	}{{ir.Add, a + c}, {ir.Sub, a - c}, {ir.Mul, a * c}} {
		got, ok := fold(t, x.op, nil, ir.Float32, float64(a), float64(c))
		require.True(t, ok, x.op)
		require.Equal(t, float64(x.want), got, x.op)
	}
	got, ok := fold(t, ir.Neg, nil, ir.Float64, 0)
	require.True(t, ok)
	require.True(t, math.Signbit(got))
	got, ok = fold(t, ir.Compare, ir.CompareAttrs{Direction: ir.Ge}, ir.Int32, 3, 3)
	require.True(t, ok)
	require.Equal(t, 1.0, got)
	got, ok = fold(t, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, ir.Int32, 7)
	require.True(t, ok)
	require.Equal(t, 7.0, got)
}

// What devices may compute differently is left to them.
func TestFoldExactLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		op    ir.Op
		attrs ir.Attrs
		d     ir.DType
		x     []float64
	}{
		"functions":                {ir.Exp, nil, ir.Float32, []float64{1}},
		"infinity":                 {ir.Add, nil, ir.Float32, []float64{math.Inf(1), 1}},
		"overflow":                 {ir.Mul, nil, ir.Float32, []float64{1e30, 1e30}},
		"NaN":                      {ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, ir.Float32, []float64{math.NaN(), 1}},
		"denormal operand":         {ir.Add, nil, ir.Float32, []float64{1e-40, 1}},
		"denormal result":          {ir.Mul, nil, ir.Float32, []float64{1e-30, 1e-10}},
		"underflow":                {ir.Mul, nil, ir.Float64, []float64{1e-300, 1e-300}},
		"overflow of integers":     {ir.Add, nil, ir.Int8, []float64{100, 100}},
		"conversion with rounding": {ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, ir.Float32, []float64{1.5}},
	} {
		_, ok := fold(t, c.op, c.attrs, c.d, c.x...)
		require.False(t, ok, name)
	}
}
