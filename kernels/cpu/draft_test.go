package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// draft is a test program with random inputs.
type draft struct {
	*ir.Program
	t      *testing.T
	inputs []reference.Value
}

// input adds an input whose elements f gives.
func (d *draft) input(dtype ir.DType, shape ir.Shape, f func() float64) ir.Value {
	values := make([]float64, shape.Size())
	for i := range values {
		values[i] = f()
	}
	v, err := reference.New(dtype, shape, values...)
	require.NoError(d.t, err)
	d.inputs = append(d.inputs, v)
	return d.AddInput("", v.Type)
}

// add adds a node with one result.
func (d *draft) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	out, err := d.Add("", op, attrs, in...)
	require.NoError(d.t, err)
	return out[0]
}
