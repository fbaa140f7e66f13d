package onnx_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/onnx"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func ExampleProgram_Marshal() {
	// y = x·w for any batch.
	p := ir.New("line")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{dim.Symbol("batch"), 3}})
	k := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{3, 1}})
	y, err := p.Add("line", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, k)
	if err != nil {
		panic(err)
	}
	p.AddOutput("y", y[0])
	w, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3, 1}, []float64{1, 2, 3})
	if err != nil {
		panic(err)
	}
	program := onnx.Program{
		Name: "line", Trace: p,
		Inputs:  []string{"x"},
		Weights: []*onnx.Weight{{Path: "line/kernel", Value: w}},
		Outputs: []string{"y"},
	}
	document, err := program.Marshal()
	fmt.Println(len(document) > 0, err)
	// Output: true <nil>
}
