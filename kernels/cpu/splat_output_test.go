package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestConstantOutputs: a constant of one repeated element is an output, twice, also reshaped, and an operand.
func TestConstantOutputs(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.Int8} {
		p := ir.New("constants")
		add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, attrs, in...)
			require.NoError(t, err)
			return out[0]
		}
		one := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 1, 37, 129)})
		p.AddOutput("one", one)
		p.AddOutput("again", one)
		p.AddOutput("flat", add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{37 * 129}}, one))
		x, err := reference.New(d, ir.Shape{37, 129}, make([]float64, 37*129)...)
		require.NoError(t, err)
		p.AddOutput("max", add(ir.Maximum, nil, p.AddInput("x", x.Type), one))
		for _, y := range runOnce(t, p, []reference.Value{x}, false) {
			for i := range y.Type.Shape.Size() {
				require.Equal(t, 1.0, y.At(i))
			}
		}
	}
}
