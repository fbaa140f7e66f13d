package lower_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Several elements are loaded before the first is stored: by elementwise kernels on large values, and after products.
func TestElementsInTurns(t *testing.T) {
	loads := func(p *ir.Program, after string) int {
		plan, err := lower.Program(p, lower.Options{Capability: 90, Hopper: true})
		require.NoError(t, err)
		text := plan.Text[strings.LastIndex(plan.Text, after)+1:]
		before, _, stored := strings.Cut(text, "st.global")
		require.True(t, stored)
		return strings.Count(before, "ld.global")
	}
	typ := ir.Type{DType: ir.BFloat16, Shape: ir.Shape{1024, 1024}}
	p := ir.New("sum")
	sum, err := p.Add("sum", ir.Add, nil, p.AddInput("x", typ), p.AddInput("y", typ))
	require.NoError(t, err)
	p.AddOutput("sum", sum[0])
	assert.Equal(t, 8, loads(p, ".visible"))

	p = ir.New("product")
	product, err := p.Add("product", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, p.AddInput("x", typ), p.AddInput("y", typ))
	require.NoError(t, err)
	sum, err = p.Add("sum", ir.Add, nil, product[0], p.AddInput("z", typ))
	require.NoError(t, err)
	p.AddOutput("sum", sum[0])
	assert.Equal(t, 16, loads(p, "st.shared.f32"))
}
