package cpu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A sum over an axis of length 1 becomes a reshape, also if its operand is a constant.
func TestSumOfConstantOverUnitAxis(t *testing.T) {
	p := ir.New("sum")
	one, err := p.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 3, 1, 2)})
	require.NoError(t, err)
	sum, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, one[0])
	require.NoError(t, err)
	p.AddOutput("sum", sum[0])
	backend, err := kernels.Lookup("cpu")
	require.NoError(t, err)
	device := kernels.Device{Kind: "cpu"}
	exec, err := kernels.Load(backend, p, device)
	require.NoError(t, err)
	defer exec.Close()
	out, err := backend.NewBuffer(device, p.Type(sum[0]))
	require.NoError(t, err)
	require.NoError(t, exec.Run(context.Background(), nil, []kernels.Buffer{out}))
	require.Equal(t, []float64{3, 3}, kernels.Array{Type: out.Type(), Data: out.Bytes()}.Float64s())
}
