package lower_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Group normalization is one kernel, and its gradient two: one for the operand, one for the scale and the offset. If
// groups are few and large, many blocks share each, and another kernel applies their result; the same holds for narrow
// groups with much memory.
func TestSpreadKernels(t *testing.T) {
	for _, c := range []struct {
		op    ir.Op
		d     ir.DType
		want  int
		attrs ir.Attrs
		in    []ir.Shape
	}{
		{ir.GroupNorm, ir.Float32, 1, ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}, []ir.Shape{{8, 5, 5, 32}, {32}, {32}}},
		{ir.GroupNorm, ir.Float32, 1, ir.GroupNormAttrs{Groups: 32, Epsilon: 1e-3}, []ir.Shape{{64, 56, 56, 256}, {256}, {256}}},
		{ir.GroupNorm, ir.BFloat16, 1, ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}, []ir.Shape{{8, 5, 5, 32}, {32}, {32}}},
		{ir.GroupNorm, ir.Float64, 1, ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}, []ir.Shape{{8, 5, 5, 32}, {32}, {32}}},
		{ir.GroupNorm, ir.Float32, 1, ir.GroupNormAttrs{Groups: 32, Epsilon: 1e-3}, []ir.Shape{{8, 5, 5, 32}, {32}, {32}}},
		{ir.GroupNorm, ir.Float32, 2, ir.GroupNormAttrs{Groups: 2, Epsilon: 1e-3}, []ir.Shape{{1, 256, 256, 32}, {32}, {32}}},
		{ir.GroupNorm, ir.Float32, 2, ir.GroupNormAttrs{Groups: 32, Epsilon: 1e-3}, []ir.Shape{{64, 56, 56, 64}, {64}, {64}}},
		{ir.GroupNormGrad, ir.Float32, 2, ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}, []ir.Shape{{8, 5, 5, 32}, {32}, {8, 4}, {8, 4}, {8, 5, 5, 32}}},
		{ir.GroupNormGrad, ir.BFloat16, 2, ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}, []ir.Shape{{8, 5, 5, 32}, {32}, {8, 4}, {8, 4}, {8, 5, 5, 32}}},
		{ir.LayerNorm, ir.Float64, 1, ir.NormAttrs{Epsilon: 1e-3}, []ir.Shape{{32, 768}, {768}, {768}}},
		{ir.LayerNormGrad, ir.Float64, 2, ir.NormAttrs{Epsilon: 1e-3}, []ir.Shape{{32, 768}, {768}, {32}, {32}, {32, 768}}},
	} {
		p := ir.New("spread")
		var in []ir.Value
		for _, s := range c.in {
			in = append(in, p.AddInput("in", ir.Type{DType: c.d, Shape: s}))
		}
		out, err := p.Add("layer", c.op, c.attrs, in...)
		require.NoError(t, err)
		for _, v := range out {
			p.AddOutput("out", v)
		}
		plan, err := lower.Program(p, lower.Options{})
		require.NoError(t, err)
		assert.Equal(t, c.want, plan.Launches, "%v of %v%v", c.op, c.d, c.in[0])
	}
}
