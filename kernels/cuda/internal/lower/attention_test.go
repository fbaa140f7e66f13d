package lower_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// attention is causal attention with 12 heads of the given size over the given number of steps.
func attention(t testing.TB, d ir.DType, steps, size int, masked, gradient bool) *ir.Program {
	p := ir.New("attention")
	var in []ir.Value
	for range 3 {
		in = append(in, p.AddInput("in", ir.Type{DType: d, Shape: ir.Shape{2, steps, 12, size}}))
	}
	if gradient {
		in = append(in, in[2], p.AddInput("total", ir.Type{DType: d, Shape: ir.Shape{2, 12, steps}}), in[0])
	}
	if masked {
		in = append(in, p.AddInput("mask", ir.Type{DType: ir.Bool, Shape: ir.Shape{2, 1, 1, steps}}))
	}
	op := map[bool]ir.Op{false: ir.Attention, true: ir.AttentionGrad}[gradient]
	out, err := p.Add("layer", op, ir.AttentionAttrs{Scale: 0.125, Causal: true, Masked: masked}, in...)
	require.NoError(t, err)
	for _, v := range out[:1+len(out)/3*2] { // only y, or all gradients
		p.AddOutput("out", v)
	}
	return p
}

// Attention of 16-bit and 32-bit floats is one kernel that stores no scores; for other types, heads and devices it is
// decomposed.
func TestFlash(t *testing.T) {
	for _, c := range []struct {
		d          ir.DType
		capability int
		size       int
		want       bool
	}{
		{ir.BFloat16, 80, 64, true}, {ir.Float16, 90, 128, true}, {ir.BFloat16, 80, 40, true},
		{ir.Float32, 80, 64, true}, {ir.Float32, 90, 128, true}, {ir.Float32, 75, 64, false},
		{ir.BFloat16, 75, 64, false}, {ir.BFloat16, 80, 136, false}, {ir.BFloat16, 80, 33, false}, {ir.Float64, 80, 64, false},
	} {
		plan, err := lower.Program(attention(t, c.d, 100, c.size, false, false), lower.Options{Capability: c.capability})
		require.NoError(t, err)
		assert.Equal(t, c.want, plan.Launches == 1, "%+v", c)
		limit := int64(8 << 10)
		if c.d == ir.Float32 {
			limit = 10 << 10
		}
		if c.want {
			assert.LessOrEqual(t, plan.ArenaBytes, limit, "%+v: the sums that nobody asked for", c)
		}
		plan, err = lower.Program(attention(t, c.d, 100, c.size, false, true), lower.Options{Capability: c.capability})
		require.NoError(t, err)
		assert.Equal(t, c.want, plan.Launches == 3, "%+v: Σ y∘dy, by queries, by keys", c)
		assert.Equal(t, c.want && c.d.IsHalf(), strings.Contains(plan.Text, "ex2.approx"), "%+v", c)
	}
}
