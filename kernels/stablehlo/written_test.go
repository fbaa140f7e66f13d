package stablehlo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// What a program computes twice is written once, and a function of the magnitude of a number is that of its negative;
// regions have operations of their own.
func TestOperationsAreWrittenOnce(t *testing.T) {
	p := ir.New("twice")
	add := func(p *ir.Program, op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4}})
	softplus := func(x ir.Value) ir.Value {
		return add(p, ir.Log1p, nil, add(p, ir.Exp, nil, add(p, ir.Neg, nil, add(p, ir.Abs, nil, x))))
	}
	p.AddOutput("sum", add(p, ir.Add, nil, softplus(x), softplus(add(p, ir.Neg, nil, x))))
	p.AddOutput("first", add(p, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x))
	p.AddOutput("second", add(p, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, add(p, ir.Exp, nil, x)))
	m, err := stablehlo.Lower(p, stablehlo.Options{})
	require.NoError(t, err)
	for text, n := range map[string]int{"log_plus_one": 1, "stablehlo.abs": 1, "stablehlo.exponential": 2, "stablehlo.add": 3, "dense<\"0x00000000\"> : tensor<f32>": 1} {
		require.Equal(t, n, strings.Count(m.Text, text), "%s in\n%s", text, m.Text)
	}
}
