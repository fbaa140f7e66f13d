package ops_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Of the hidden layer only its input is kept for the gradient.
func ExampleRemat() {
	g := ops.NewGraph("example")
	x, w := g.Input("x", ir.Float32, 8, 4), g.Input("w", ir.Float32, 4, 100)
	hidden := ops.Remat(func(xs ...*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Tanh(ops.Sin(ops.Matmul(xs[0], w)))} }, x)[0]
	dw := ops.Grad(ops.Sum(ops.Square(hidden)), w)[0]
	fmt.Println(dw.Shape())
	// Output: [4 100]
}

func ExampleSegment() {
	g := ops.NewGraph("example")
	x := g.Input("x", ir.Float32, 100)
	segment := ops.BeginSegment(g)
	y := ops.Exp(ops.Sin(x))
	segment.Remat()
	fmt.Println(ops.Grad(ops.Sum(y), x)[0].Shape())
	// Output: [100]
}
