package lower_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A product that the program has twice, once after a pair of transposes, is one kernel; all-reduces of a bucket are one
// collective.
func TestGeneralPasses(t *testing.T) {
	p := ir.New("p")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 8}}
	x, w := p.AddInput("x", typ), p.AddInput("w", typ)
	turn := ir.TransposeAttrs{Perm: []int{1, 0}}
	product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	for range 2 {
		p.AddOutput("y", add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: 1}, add(ir.Dot, product, x, w)))
		x = add(ir.Transpose, turn, add(ir.Transpose, turn, x))
	}
	plan, err := lower.Program(p, lower.Options{Replicas: 2})
	require.NoError(t, err)
	require.Equal(t, 1, plan.Collects)
	require.Equal(t, 1, plan.Launches)
}
