package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestNormOfSingleNumbers: if every mean is that of a single number, as after the dense layers of a batch of one
// example, or of equal numbers, a normalization without an offset is exactly 0. So is the gradient with respect to
// single numbers, as in Keras. A remainder of 1e-8 from a fused product would decide on which side of a kink at 0 the
// next activation is, and Adam would turn it into a full step.
func TestNormOfSingleNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16} {
		for range 40 {
			channels, equal := 1+r.IntN(70), 1
			if r.IntN(2) == 0 {
				equal += r.IntN(9)
			}
			switch r.IntN(4) {
			case 0:
				testEqualNumbers(t, r, ir.BatchNorm, d, ir.Shape{equal, channels}, channels)
			case 1:
				testEqualNumbers(t, r, ir.BatchNorm, d, ir.Shape{1, equal, 1, channels}, channels)
			case 2:
				testEqualNumbers(t, r, ir.GroupNorm, d, ir.Shape{1 + r.IntN(4), equal, 1, channels}, channels)
			default:
				testEqualNumbers(t, r, ir.LayerNorm, d, ir.Shape{channels, 1}, 1)
			}
		}
	}
}

// testEqualNumbers normalizes x of shape (examples..., channels). The examples are equal, except for GroupNorm and
// LayerNorm.
func testEqualNumbers(t *testing.T, r *rand.Rand, op ir.Op, d ir.DType, shape ir.Shape, channels int) {
	p := programBuilder{ir.New(""), t}
	typ, of := ir.Type{DType: d, Shape: shape}, ir.Type{DType: d, Shape: ir.Shape{channels}}
	x, gamma, beta, dy := p.AddInput("x", typ), p.AddInput("gamma", of), p.AddInput("beta", of), p.AddInput("dy", typ)
	var forward, backward ir.Attrs = ir.NormAttrs{Epsilon: 1e-3}, ir.NormAttrs{Epsilon: 1e-3}
	gradient := map[ir.Op]ir.Op{ir.BatchNorm: ir.BatchNormGrad, ir.GroupNorm: ir.GroupNormGrad, ir.LayerNorm: ir.LayerNormGrad}[op]
	if op == ir.GroupNorm {
		forward, backward = ir.GroupNormAttrs{Groups: channels, Epsilon: 1e-3}, ir.GroupNormAttrs{Groups: channels, Epsilon: 1e-3}
	}
	norm := p.add(op, forward, x, gamma, beta)
	p.AddOutput("y", norm[0])
	p.AddOutput("dx", p.add(gradient, backward, x, gamma, norm[1], norm[2], dy)[0])
	require.NoError(t, p.Verify())

	inputs := normalValues(t, r, p.Program)
	first := shape.Size()
	switch op {
	case ir.BatchNorm:
		first = channels
	case ir.GroupNorm:
		first = shape[0] * channels
	}
	for i := range inputs[0].F {
		at := i % first
		if op == ir.GroupNorm {
			at = i/(shape[1]*channels)*channels + i%channels
		}
		inputs[0].F[i] = inputs[0].F[at]
	}
	clear(inputs[2].F)
	out := runOnce(t, p.Program, inputs, false)
	name := fmt.Sprint(op, d, shape)
	for _, v := range numbers(out[0]) {
		require.Zero(t, v, "%s: y", name)
	}
	if shape.Size() == first {
		for _, v := range numbers(out[1]) {
			require.Zero(t, v, "%s: dx", name)
		}
	}
}
