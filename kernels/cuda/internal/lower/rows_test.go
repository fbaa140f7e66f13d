package lower_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// An op on rows of float32 is one kernel that includes the computation of its operand, besides kernels that check
// labels or add up columns. Rows of float64 are decomposed: the maximum is one kernel, the rest another.
func TestRowKernels(t *testing.T) {
	for _, c := range []struct {
		op    ir.Op
		d     ir.DType
		want  int
		attrs ir.Attrs
		in    []ir.Shape
	}{
		{ir.Softmax, ir.Float32, 1, nil, []ir.Shape{{32, 1000}}},
		{ir.Softmax, ir.Float64, 2, nil, []ir.Shape{{32, 1000}}},
		{ir.LogSoftmax, ir.BFloat16, 1, nil, []ir.Shape{{32, 10}}},
		{ir.SoftmaxGrad, ir.Float32, 1, nil, []ir.Shape{{32, 1000}, {32, 1000}}},
		{ir.LogSoftmaxGrad, ir.Float16, 1, nil, []ir.Shape{{32, 1000}, {32, 1000}}},
		{ir.LayerNorm, ir.Float32, 1, ir.NormAttrs{Epsilon: 1e-3}, []ir.Shape{{32, 768}, {768}, {768}}},
		{ir.LayerNormGrad, ir.Float32, 3, ir.NormAttrs{Epsilon: 1e-3}, []ir.Shape{{32, 768}, {768}, {32}, {32}, {32, 768}}},
	} {
		p := ir.New("rows")
		var in []ir.Value
		for _, s := range c.in {
			in = append(in, p.AddInput("in", ir.Type{DType: c.d, Shape: s}))
		}
		x, err := p.Add("layer", ir.Neg, nil, in[0])
		require.NoError(t, err)
		in[0] = x[0]
		out, err := p.Add("layer", c.op, c.attrs, in...)
		require.NoError(t, err)
		for _, v := range out {
			p.AddOutput("out", v)
		}
		plan, err := lower.Program(p, lower.Options{})
		require.NoError(t, err)
		assert.Equal(t, c.want, plan.Launches, "%v of %v", c.op, c.d)
	}
}
