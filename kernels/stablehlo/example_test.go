package stablehlo_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// A program that adds a number to itself.
func ExampleLower() {
	p := ir.New("twice")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	y, err := p.Add("layer", ir.Add, nil, x, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	p.AddOutput("y", y[0])
	m, err := stablehlo.Lower(p, stablehlo.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(m.Text)
	// Output:
	// module @twice attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
	//   func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
	//     %v0 = stablehlo.add %arg0, %arg0 : tensor<3xf32> loc(#loc0)
	//     return %v0, %arg1 : tensor<3xf32>, tensor<3xi32>
	//   }
	// }
	// #loc0 = loc("layer")
}

// A check of an index that failed.
func ExampleModule_Failure() {
	m := stablehlo.Module{Checks: []stablehlo.Check{{Scope: "model/embedding", Op: ir.Gather, Length: 1000}}}
	fmt.Println(m.Failure([3]int32{0, 1, 1234}))
	// Output: model/embedding: gather: index 1234 is outside axis 0 of length 1000; valid indices are 0 to 999
}

// The place that a flag's number stands for.
func ExampleCheck_Error() {
	c := stablehlo.Check{Scope: "tokens", Op: ir.Gather, Axis: 1, Length: 4}
	fmt.Println(c.Error(-1))
	// Output: tokens: gather: index -1 is outside axis 1 of length 4; valid indices are 0 to 3
}

// Options for a step of training on four replicas.
func ExampleOptions() {
	o := stablehlo.Options{Replicas: 4, Number: 1, Donate: true}
	fmt.Println(o.Replicas, "replicas, in place:", o.Donate)
	// Output: 4 replicas, in place: true
}
