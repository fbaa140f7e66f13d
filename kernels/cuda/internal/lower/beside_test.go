package lower_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// batchNorm is batch normalization of images, with its gradients.
func batchNorm(t testing.TB, d ir.DType) *ir.Program {
	p := ir.New("batch normalization")
	images, channels := ir.Type{DType: d, Shape: ir.Shape{64, 28, 28, 64}}, ir.Type{DType: d, Shape: ir.Shape{64}}
	x, gamma, beta, dy := p.AddInput("x", images), p.AddInput("gamma", channels), p.AddInput("beta", channels), p.AddInput("dy", images)
	a := ir.NormAttrs{Epsilon: 1e-3}
	y, err := p.Add("norm", ir.BatchNorm, a, x, gamma, beta)
	require.NoError(t, err)
	g, err := p.Add("norm", ir.BatchNormGrad, a, x, gamma, y[1], y[2], dy)
	require.NoError(t, err)
	for _, v := range append(y, g...) {
		p.AddOutput("out", v)
	}
	return p
}

// Reductions of the same shape along the same axes share one pass: the four sums of batch normalization's gradient.
func TestReductionsTogether(t *testing.T) {
	plan, err := lower.Program(batchNorm(t, ir.Float32), lower.Options{})
	require.NoError(t, err)
	reductions := 0
	for _, s := range plan.Steps {
		if s.Op == ir.Reduce {
			reductions++
		}
	}
	assert.Equal(t, 2, reductions, "mean and variance, and the sums of the gradient, each in one kernel")
}
