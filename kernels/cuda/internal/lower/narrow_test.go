package lower_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Kernels do not have too many parameters, however many operands a program concatenates.
func TestManyOperands(t *testing.T) {
	for _, operands := range []int{2, 255, 257, 700, 7000} {
		p := ir.New("many")
		add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("layer", op, attrs, in...)
			require.NoError(t, err)
			return out[0]
		}
		typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{2, 3}}
		var parts []ir.Value
		for range operands {
			x, y := p.AddInput("x", typ), p.AddInput("y", typ)
			parts = append(parts, add(ir.Add, nil, x, y))
		}
		joined := add(ir.Concat, ir.AxisAttrs{Axis: 1}, parts...)
		p.AddOutput("joined", add(ir.Tanh, nil, joined))
		var sum ir.Value
		for i := range 3 { // several concatenations in one kernel
			several := make([]ir.Value, operands)
			for j := range several {
				several[j] = p.AddInput("z", typ)
			}
			if z := add(ir.Concat, ir.AxisAttrs{Axis: 1}, several...); i == 0 {
				sum = z
			} else {
				sum = add(ir.Mul, nil, sum, z)
			}
		}
		p.AddOutput("sum", sum)
		p.AddOutput("other", add(ir.Concat, ir.AxisAttrs{Axis: 0}, add(ir.Slice, ir.SliceAttrs{Start: []int{0, 0}, Limit: []int{1, 3}, Stride: []int{1, 1}}, joined), parts[0]))
		plan, err := lower.Program(p, lower.Options{})
		require.NoError(t, err, "%d operands", operands)
		for _, s := range plan.Steps {
			assert.LessOrEqual(t, len(s.Args), 512)
		}
	}
}
