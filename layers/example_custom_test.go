package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// scale multiplies each feature by a weight of its own.
type scale struct {
	layers.Base
	Initializer any

	factor *distribute.Variable
}

// Build creates the weights when the shape of the input is known.
func (l *scale) Build(b *layers.Builder, inputs []ir.Shape) {
	features := inputs[0][len(inputs[0])-1]
	l.factor = b.AddWeight("factor", ir.Shape{features}, layers.WeightOptions{Initializer: l.Initializer})
}

func (l *scale) Forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(inputs[0], c.Weight(l.factor))}
}

// A custom layer embeds Base.
func ExampleBase() {
	show(&scale{Initializer: "ones"}, in(ir.Shape{2, 3}))
	// Output: (2, 3) [1 2 3 4 5 6]
}

func ExampleKerasTensor() {
	x := layers.NewInput("image", ir.Float32, layers.Unknown, 28, 28, 1)
	y := layers.Apply(&layers.Flatten{}, x)
	fmt.Println(x, "->", y)
	// Output: (None, 28, 28, 1) float32 -> (None, 784) float32
}

// Part of an axis, as x[:, 1:3] in Python.
func ExampleSlice() {
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 5)
	fmt.Println(x.At(layers.Slice{}, layers.Range(1, 3)))
	// Output: (None, 2) float32
}

func ExampleOperation() {
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 5)
	fmt.Println(layers.Op("mean", x, layers.Keywords{"axis": -1, "keepdims": true}), x.Add(1))
	// Output: (None, 1) float32 (None, 5) float32
}
