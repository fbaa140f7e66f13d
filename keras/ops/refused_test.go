package ops_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// What cannot be computed is an error, before any memory is allocated for it: missing functions, invalid types, axes
// named twice, unlimited counts. The test compares the text, since another check might reject the same call.
func TestRefused(t *testing.T) {
	x := opstest.Normal(1, 4, 6)
	yes := opstest.Bools(nil, 1)
	const huge = 1 << 40
	for name, f := range map[string]func(x, yes *ops.Tensor) any{
		"cond|the function is nil":  func(x, yes *ops.Tensor) any { return ops.Cond(yes, nil, func() []*ops.Tensor { return tensors{x} }) },
		"while|the function is nil": func(x, yes *ops.Tensor) any { return ops.WhileLoop(nil, nil, x) },
		"fori|the function is nil":  func(x, yes *ops.Tensor) any { return ops.ForiLoop(0, 2, nil, x) },
		"map|the function is nil":   func(x, yes *ops.Tensor) any { return ops.Map(nil, x) },
		"fori type|fori_loop: carried tensor 0 begins as": func(x, yes *ops.Tensor) any {
			return ops.ForiLoop(0, 2, func(_ *ops.Tensor, s []*ops.Tensor) []*ops.Tensor { return tensors{yes} }, x)
		},
		"map of scalars|map: stacked tensor 0 has shape []": func(x, yes *ops.Tensor) any { return ops.Map(func(s []*ops.Tensor) []*ops.Tensor { return s }, yes) },
		"map of nothing|map: needs at least one tensor":     func(x, yes *ops.Tensor) any { return ops.Map(func(s []*ops.Tensor) []*ops.Tensor { return s }) },
		"associative scan|the function is nil":              func(x, yes *ops.Tensor) any { return ops.AssociativeScan(nil, x, 0, false) },
		"custom gradient|needs at least one tensor": func(x, yes *ops.Tensor) any {
			return ops.CustomGradient(func(...*ops.Tensor) (tensors, func(tensors) tensors) { return nil, nil })
		},
		"zeros of no type|needs an element type":    func(x, yes *ops.Tensor) any { return ops.Zeros(x, ir.Invalid, 2) },
		"length of no type|needs an element type":   func(x, yes *ops.Tensor) any { return ops.Length(x, ir.DType(99), 2) },
		"constant of no type|needs an element type": func(x, yes *ops.Tensor) any { return ops.Constant(x, ir.Invalid, ir.Shape{1}, []float64{1}) },
		"an axis twice|name each axis once":         func(x, yes *ops.Tensor) any { return ops.Sum(x, 0, -2) },
		"flipped twice|name each axis once":         func(x, yes *ops.Tensor) any { return ops.Flip(x, 1, 1) },
		"split|parts of":                            func(x, yes *ops.Tensor) any { return ops.Split(ops.Zeros(x, ir.Float32, 0), huge, 0) },
		"array split|parts of":                      func(x, yes *ops.Tensor) any { return ops.ArraySplit(x, math.MaxInt, 0) },
		"unstack|parts of":                          func(x, yes *ops.Tensor) any { return ops.Unstack(ops.BroadcastTo(yes, huge), 0) },
		"adaptive pooling|cells of":                 func(x, yes *ops.Tensor) any { return ops.AdaptiveMaxPool(ops.ExpandDims(x, -1), huge) },
		"linspace|":                                 func(x, yes *ops.Tensor) any { return ops.Linspace(x, ir.Float32, 0, 1, 1<<62) },
		"linspace of tensors|":                      func(x, yes *ops.Tensor) any { return ops.LinspaceOf(x, x, huge, true) },
		"a spectrum|":                               func(x, yes *ops.Tensor) any { re, _ := ops.RFFT(x, 1<<31); return re },
		"a transform of 16 bits|cast both parts to float32 first": func(x, yes *ops.Tensor) any {
			re, _ := ops.FFT2(ops.Cast(x, ir.Float16), ops.Cast(x, ir.Float16))
			return re
		},
	} {
		name, says, _ := strings.Cut(name, "|")
		err := opstest.EvalError(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			f(in[0], in[1])
			return in[:1]
		}, x, yes)
		require.ErrorContains(t, err, says, name)
	}
}

// The numbers are NumPy's and TensorFlow's.
func TestNanvarOfInfinity(t *testing.T) {
	x := opstest.Floats([]int{2, 3}, 1, math.Inf(1), 2, math.NaN(), 4, 8)
	y := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return tensors{ops.Nanvar(in[0], 1)} }, x)[0]
	require.True(t, math.IsNaN(y.F[0]), y.F)
	require.Equal(t, 4.0, y.F[1])
}

// Keras's saturate_cast replaces what is too large, including infinities, by the largest number of the type.
func TestSaturateCastToSmallerFloats(t *testing.T) {
	x := opstest.Floats([]int{5}, 1e6, -1e300, math.Inf(1), 1.5, math.NaN())
	of := func(x opstest.Array, d ir.DType) []float64 {
		return opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return tensors{ops.SaturateCast(in[0], d)} }, x)[0].F
	}
	y := of(x, ir.Float16)
	require.Equal(t, []float64{65504, -65504, 65504, 1.5}, y[:4])
	require.True(t, math.IsNaN(y[4]))
	require.Equal(t, []float64{65504, -65504}, of(opstest.Ints([]int{2}, 1e9, -1e9), ir.Float16))
	require.Equal(t, []float64{1, 0, 1, 1, 1}, of(x, ir.Bool))
}
