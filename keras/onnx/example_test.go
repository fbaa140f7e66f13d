package onnx_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/onnx"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func ExampleProgram_Marshal() {
	// y = x·w for any batch: the program is traced for three of them.
	sizes := []onnx.Sizes{{Batch: 7919}, {Batch: 7927}, {Batch: 7933}}
	var traces []*ir.Program
	for _, s := range sizes {
		p := ir.New("line")
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{s.Batch, 3}})
		w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{3, 1}})
		y, err := p.Add("line", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)
		if err != nil {
			panic(err)
		}
		p.AddOutput("y", y[0])
		traces = append(traces, p)
	}
	w, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3, 1}, []float64{1, 2, 3})
	if err != nil {
		panic(err)
	}
	program := onnx.Program{
		Name: "line", Traces: traces, Sizes: sizes,
		Inputs:  []onnx.Input{{Name: "x", Open: []int{0}}},
		Weights: []*onnx.Weight{{Path: "line/kernel", Value: w}},
		Outputs: []string{"y"},
	}
	document, err := program.Marshal()
	fmt.Println(len(document) > 0, err)
	// Output: true <nil>
}
