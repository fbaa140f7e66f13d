package kernelstest_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

func ExampleCase() {
	for _, c := range kernelstest.Cases() {
		if c.Op == ir.TopK && c.Inputs[0].Type.String() == "float32[9 7]" {
			fmt.Println(c.Name, c.Program.Type(c.Program.Outputs[0].Value))
		}
	}
	// Output:
	// top_k/float32[9 7] k 0 float32[9 0]
	// top_k/float32[9 7] k 1 float32[9 1]
	// top_k/float32[9 7] k 7 float32[9 7]
}

func ExampleCompare() {
	got, _ := reference.New(ir.Float32, ir.Shape{2}, 1, 2.01)
	want, _ := reference.New(ir.Float32, ir.Shape{2}, 1, 2)
	fmt.Println(kernelstest.Compare(got, want, 16, false))
	// Output: element 1 of float32[2] is 2.009999990463257, want 2: they differ by 0.009999990463256836, allowed is 3.814697265625e-06
}

func ExampleRandomProgram() {
	p, inputs := kernelstest.RandomProgram(7)
	out, err := reference.Run(p, inputs)
	fmt.Println(p.Name, len(out) == len(p.Outputs), err)
	// Output: random 7 true <nil>
}
