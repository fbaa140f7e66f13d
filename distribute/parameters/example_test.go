package parameters_test

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A weight that servers train with Adam; after each update its rows are given the length 1.
func ExampleConstraint() {
	spec := parameters.Spec{
		Name: "kernel", Shape: ir.Shape{1000, 16},
		Rule:       parameters.Rule{Kind: parameters.Adam, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7},
		Constraint: parameters.Constraint{Kind: parameters.UnitNorm, Axes: 1 << 1}, // along axis 1
	}
	fmt.Println(spec.Rule.Kind, spec.Rule.SlotNames(), spec.Constraint.AcrossRows())
	// Output: adam [momentum velocity] false
}

// A table that grows: it has a row for each key that is met, 16 numbers each, and at most a million of them.
func ExamplePolicy() {
	spec := parameters.Spec{
		Name: "users", Shape: ir.Shape{16}, Dynamic: true,
		Rule:    parameters.Rule{Kind: parameters.Adagrad, Initial: 0.1, Epsilon: 1e-7},
		Init:    parameters.Init{Kind: parameters.Normal, B: 0.05},
		MaxRows: 1 << 20, Policy: parameters.LeastFrequent,
	}
	fmt.Println(spec.Policy, spec.Init.Kind == parameters.Normal)
	// Output: least_frequent true
}

func ExampleNewRoom() {
	room := parameters.NewRoom(1 << 20)
	defer room.Close()
	read := &parameters.Read{Values: room.Floats[:0], Room: room} // Job.Pull fills it
	fmt.Println(cap(read.Values), room.Spoiled())
	// Output: 1048576 false
}
