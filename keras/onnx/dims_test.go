package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestEquation(t *testing.T) {
	a := ir.DotAttrs{LhsBatch: []int{1}, RhsBatch: []int{0}, LhsContract: []int{3, 0}, RhsContract: []int{1, 3}}
	require.Equal(t, "cadb,abec->ade", equation(a, 4, 4))
}

func TestMarshalRefuses(t *testing.T) {
	trace := ir.New("p")
	x := trace.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
	y, err := trace.Add("layer", ir.Lgamma, nil, x)
	require.NoError(t, err)
	trace.AddOutput("y", y[0])
	p := Program{Name: "p", Trace: trace, Inputs: []string{"x"}, Outputs: []string{"y"}}
	_, err = p.Marshal()
	require.ErrorContains(t, err, `layer "layer": lgamma: ONNX has no such operation`)
	p.Weights = []*Weight{{Path: "w", Value: kernels.NewArray(ir.Type{DType: ir.Float32})}}
	_, err = p.Marshal()
	require.ErrorContains(t, err, "1 inputs")
	p.Trace = nil
	_, err = p.Marshal()
	require.ErrorContains(t, err, "no trace")
}
