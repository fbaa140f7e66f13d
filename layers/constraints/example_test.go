package constraints_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers/constraints"
)

// show prints the result of a constraint for the matrix ((3, 0.3), (-4, 0.4)): two columns of lengths 5 and ½.
func show(c constraints.Constraint) {
	t := ir.Type{DType: ir.Float64, Shape: ir.Shape{2, 2}}
	p, err := opstest.Trace(apply(c), t)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := reference.New(t.DType, t.Shape, 3, 0.3, -4, 0.4)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := reference.Run(p, []reference.Value{w})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", out[0].F)
}

func ExampleMaxNorm() {
	show(constraints.MaxNorm{MaxValue: new(1.0)})
	// Output: [0.60 0.30 -0.80 0.40]
}

func ExampleNonNeg() {
	show(constraints.NonNeg{})
	// Output: [3.00 0.30 0.00 0.40]
}

func ExampleUnitNorm() {
	show(constraints.UnitNorm{})
	// Output: [0.60 0.60 -0.80 0.80]
}

func ExampleMinMaxNorm() {
	show(constraints.MinMaxNorm{MinValue: 1, MaxValue: new(2.0)})
	// Output: [1.20 0.60 -1.60 0.80]
}

func ExampleGet() {
	c, err := constraints.Get("non_neg")
	fmt.Printf("%T %v\n", c, err)
	// Output: *constraints.NonNeg <nil>
}
