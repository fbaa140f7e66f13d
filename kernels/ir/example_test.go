package ir_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// dense is relu(x·w) with the new weights w/2.
func dense() *ir.Program {
	p := ir.New("dense")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 3}})
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{3, 2}})
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("dense", op, attrs, in...)
		if err != nil {
			panic(err)
		}
		return out[0]
	}
	y := add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)
	half := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0.5, 3, 2)})
	p.AddOutput("y", add(ir.Relu, nil, y))
	p.AddAlias("w", add(ir.Mul, nil, w, half), 1)
	return p
}

func ExampleProgram() {
	p := dense()
	fmt.Print(p)
	fmt.Println(p.Verify())
	// Output:
	// program dense(%0 x float32[8 3], %1 w float32[3 2]) {
	//   %2 = dot(%0, %1) {lhs_batch=[] rhs_batch=[] lhs_contract=[1] rhs_contract=[0]} float32[8 2] // dense
	//   %3 = constant() {float32[3 2](0.5)} float32[3 2] // dense
	//   %4 = relu(%2) float32[8 2] // dense
	//   %5 = mul(%1, %3) float32[3 2] // dense
	// } -> (%4 y, %5 w replaces %1)
	// <nil>
}

func ExampleNode() {
	n := dense().Nodes[2]
	fmt.Println(n.Op, n.Inputs, n.Outputs, n.Scope)
	// Output: relu [2] [4] dense
}

func ExampleInput() {
	p := dense()
	for _, in := range p.Inputs {
		fmt.Println(in.Name, p.Type(in.Value))
	}
	// Output:
	// x float32[8 3]
	// w float32[3 2]
}

func ExampleOutput() {
	for _, out := range dense().Outputs {
		fmt.Println(out.Name, out.Value, out.Alias)
	}
	// Output:
	// y 4 -1
	// w 5 1
}

func ExampleValue() {
	p := ir.New("p")
	v := p.AddInput("x", ir.Type{DType: ir.Int32})
	fmt.Println(v, p.Type(v), p.NumValues())
	// Output: 0 int32[] 1
}

func ExampleOp() {
	fmt.Println(ir.Dot, ir.Dot.StableHLO(), ir.Dot.IsComposite())
	fmt.Println(ir.Conv, ir.Conv.IsComposite(), ir.Add.IsElementwise(), ir.AllReduce.IsCollective())
	// Output:
	// dot dot_general false
	// conv true true true
}

func ExampleExpand() {
	p := ir.New("p")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
	y, _ := p.Add("activation", ir.Relu, nil, x)
	p.AddOutput("y", y[0])
	q, err := ir.Expand(p, nil)
	fmt.Printf("%v%v\n", q, err)
	// Output:
	// program p(%0 x float32[2]) {
	//   %1 = constant() {float32[2](0)} float32[2] // activation
	//   %2 = max(%0, %1) float32[2] // activation
	// } -> (%2 y)
	// <nil>
}

func ExampleDType() {
	d, err := ir.ParseDType("bfloat16")
	fmt.Println(d, d.Size(), d.IsFloat(), d.StableHLO(), err)
	// Output: bfloat16 2 true bf16 <nil>
}

func ExampleShape() {
	s := ir.Shape{2, 3, 5}
	fmt.Println(s.Size(), s.Strides(), s.Without(1), s.WithOnes(1))
	// Output: 30 [15 5 1] [2 5] [2 1 5]
}

func ExampleBroadcastShapes() {
	fmt.Println(ir.BroadcastShapes(ir.Shape{4, 1}, ir.Shape{3}))
	// Output: [4 3] <nil>
}

func ExampleType() {
	t := ir.Type{DType: ir.Float16, Shape: ir.Shape{2, 3}}
	fmt.Println(t, t.Bytes())
	// Output: float16[2 3] 12
}

func ExampleLiteral() {
	list, err := ir.Floats(ir.Int8, ir.Shape{3}, []float64{1, 2.9, 1000})
	fmt.Println(list, err)
	fmt.Println(ir.Scalar(ir.Float32, 0.5, 4))
	// Output:
	// int8[3][1 2 127] <nil>
	// float32[4](0.5)
}

func ExampleRoundFloat() {
	fmt.Println(ir.RoundFloat(ir.BFloat16, 0.1), ir.RoundFloat(ir.Float16, 70000))
	// Output: 0.10009765625 +Inf
}

func ExampleSamePadding() {
	low, high := ir.SamePadding(5, 2, 1, 1)
	fmt.Println(low, high)
	// Output: 0 1
}
