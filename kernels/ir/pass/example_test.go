package pass_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// doubled returns x·1 + x·1.
func doubled() *ir.Program {
	p := ir.New("double")
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{3}}
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, attrs, in...)
		if err != nil {
			panic(err)
		}
		return out[0]
	}
	x := p.AddInput("x", typ)
	one := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 1, 3)})
	p.AddOutput("y", add(ir.Add, nil, add(ir.Mul, nil, x, one), add(ir.Mul, nil, x, one)))
	return p
}

func ExampleSimplifyOptions() {
	p, err := pass.Run(doubled(), nil, pass.Simplify(pass.SimplifyOptions{Replicas: 1}))
	if err != nil {
		panic(err)
	}
	fmt.Print(p)
	// Output:
	// program double(%0 x float32[3]) {
	//   %1 = constant() {float32[3](1)} float32[3]
	//   %2 = add(%0, %0) float32[3]
	// } -> (%2 y)
}

func ExamplePass() {
	count := pass.New("count", func(p *ir.Program) (*ir.Program, error) {
		fmt.Println(len(p.Nodes), "nodes")
		return p, nil
	})
	simplify := pass.Simplify(pass.SimplifyOptions{})
	if _, err := pass.Run(doubled(), nil, count, simplify, simplify, count); err != nil {
		panic(err)
	}
	// Output:
	// 4 nodes
	// 1 nodes
}

func ExampleRewriter() {
	p := doubled()
	r := pass.NewRewriter(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		op := n.Op
		if op == ir.Add {
			op = ir.Maximum
		}
		results, err := r.To.Add(n.Scope, op, n.Attrs, r.Operands(n)...)
		if err == nil {
			err = r.Define(n, results)
		}
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(r.Finish().Nodes[3].Op)
	// Output: max
}

func ExampleDerive() {
	p := ir.New("look_up")
	rows := p.AddInput("rows", ir.Type{DType: ir.Int32, Shape: ir.Shape{2}})
	table := p.AddInput("table", ir.Type{DType: ir.Float32, Shape: ir.Shape{100, 64}})
	scaled, err := p.Add("", ir.Tanh, nil, table)
	if err != nil {
		panic(err)
	}
	found, err := p.Add("", ir.Embedding, nil, scaled[0], rows)
	if err != nil {
		panic(err)
	}
	p.AddOutput("found", found[0])
	rest, derived, err := pass.Derive(p, []int{1})
	if err != nil {
		panic(err)
	}
	fmt.Println(derived[0].Program)
	fmt.Println(rest)
	// Output:
	// program look_up_derived(%0 in0 float32[100 64]) {
	//   %1 = tanh(%0) float32[100 64]
	// } -> (%1 out0)
	//
	// program look_up(%0 rows int32[2], %1 table float32[100 64], %2 derived0 float32[100 64]) {
	//   %3 = embedding(%2, %0) float32[2 64]
	// } -> (%3 found)
}
