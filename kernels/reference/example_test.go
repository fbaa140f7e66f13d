package reference_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

func ExampleRun() {
	p := ir.New("dense")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{1, 2}})
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{2, 2}})
	y, err := p.Add("dense", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)
	if err != nil {
		fmt.Println(err)
		return
	}
	p.AddOutput("y", y[0])
	row, _ := reference.New(ir.Float32, ir.Shape{1, 2}, 1, 2)
	weights, _ := reference.New(ir.Float32, ir.Shape{2, 2}, 1, 10, 100, 1000)
	out, err := reference.Run(p, []reference.Value{row, weights})
	fmt.Println(out[0].Type, out[0].F, err)
	// Output: float32[1 2] [201 2010] <nil>
}

func ExampleRunReplicas() {
	p := ir.New("mean")
	x := p.AddInput("x", ir.Type{DType: ir.Float32})
	y, _ := p.Add("loss", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Mean, Replicas: 2}, x)
	p.AddOutput("y", y[0])
	one, _ := reference.New(ir.Float32, nil, 1)
	two, _ := reference.New(ir.Float32, nil, 2)
	out, err := reference.RunReplicas(p, [][]reference.Value{{one}, {two}})
	fmt.Println(out[0][0].F, out[1][0].F, err)
	// Output: [1.5] [1.5] <nil>
}

func ExampleInterpreter() {
	third, _ := reference.New(ir.Float64, nil, 1)
	three, _ := reference.New(ir.Float64, nil, 3)
	p := ir.New("third")
	x := p.AddInput("x", ir.Type{DType: ir.Float64})
	y := p.AddInput("y", ir.Type{DType: ir.Float64})
	q, _ := p.Add("", ir.Div, nil, x, y)
	half, _ := p.Add("", ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, q[0])
	sum, _ := p.Add("", ir.Add, nil, half[0], half[0])
	triple, _ := p.Add("", ir.Add, nil, sum[0], half[0])
	p.AddOutput("", triple[0])
	for _, round := range []bool{false, true} {
		out, _ := reference.Interpreter{Round: round}.Run(p, []reference.Value{third, three})
		fmt.Println(out[0].F[0])
	}
	// Output:
	// 1.001953125
	// 1
}

func ExampleValue() {
	v, _ := reference.New(ir.BFloat16, ir.Shape{2}, 1.001, -3)
	fmt.Println(v.Type, v.F, v.Bytes())
	_, err := reference.FromBytes(v.Type, v.Bytes()[:3])
	fmt.Println(err)
	// Output:
	// bfloat16[2] [1 -3] [128 63 64 192]
	// reference: a value of type bfloat16[2] has 4 bytes, received 3
}
