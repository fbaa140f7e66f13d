package regularizers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// show prints the penalty on the matrix ((1, -2), (3, 4)).
func show(r regularizers.Regularizer) {
	t := ir.Type{DType: ir.Float64, Shape: ir.Shape{2, 2}}
	p, err := opstest.Trace(penalty(r), t)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := reference.New(t.DType, t.Shape, 1, -2, 3, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := reference.Run(p, []reference.Value{w})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", out[0].F[0])
}

func ExampleL1() {
	show(regularizers.L1{L1: new(0.1)})
	// Output: 1.0000
}

func ExampleL2() {
	show(regularizers.L2{L2: new(0.1)})
	// Output: 3.0000
}

func ExampleL1L2() {
	show(regularizers.L1L2{L1: 0.1, L2: 0.1})
	// Output: 4.0000
}

func ExampleOrthogonalRegularizer() {
	show(regularizers.OrthogonalRegularizer{Factor: new(1.0)})
	// Output: 0.4472
}

func ExampleGet() {
	r, err := regularizers.Get("l2")
	fmt.Printf("%T %v\n", r, err)
	// Output: *regularizers.L2 <nil>
}
