package ops_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// print runs the program traced in g on scalars and vectors of float64 and prints the given results. A backend would
// compile the program; the reference interpreter is sufficient for examples.
func print(g *ops.Graph, results []*ops.Tensor, inputs ...reference.Value) {
	for i, t := range results {
		g.Program().AddOutput(fmt.Sprint("y", i), t.Value())
	}
	out, err := reference.Run(g.Program(), inputs)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range out {
		fmt.Printf("%.4g\n", v.F)
	}
}

func value(shape ir.Shape, elements ...float64) reference.Value {
	return reference.Value{Type: ir.Type{DType: ir.Float64, Shape: shape}, F: elements}
}

func ExampleGraph() {
	g := ops.NewGraph("affine")
	x := g.Input("x", ir.Float64, 2)
	var y *ops.Tensor
	g.InScope("dense", func() { y = ops.AddScalar(ops.MultiplyScalar(x, 3), 1) })
	fmt.Println(y.Type())
	print(g, []*ops.Tensor{y}, value(ir.Shape{2}, 10, 20))
	// Output:
	// float64[2]
	// [31 61]
}

func ExampleTape() {
	g := ops.NewGraph("gradient")
	x := g.Input("x", ir.Float64)
	tape := ops.NewTape(g)
	y := ops.Multiply(x, ops.Sin(x))
	first := tape.Gradients(y, x).Values[0]
	second := tape.Gradients(first, x).Values[0]
	print(g, []*ops.Tensor{y, first, second}, value(nil, 2))
	// Output:
	// [1.819]
	// [0.077]
	// [-2.651]
}

func ExampleScan() {
	g := ops.NewGraph("running_sum")
	x := g.Input("x", ir.Float64, 4)
	zero := ops.Zeros(g, ir.Float64)
	final, sums := ops.Scan(func(carry, xs []*ops.Tensor) (next, ys []*ops.Tensor) {
		sum := ops.Add(carry[0], xs[0])
		return []*ops.Tensor{sum}, []*ops.Tensor{sum}
	}, []*ops.Tensor{zero}, []*ops.Tensor{x}, ops.ScanOptions{})
	dx := ops.Grad(sums[0], x)[0]
	print(g, []*ops.Tensor{final[0], sums[0], dx}, value(ir.Shape{4}, 1, 2, 3, 4))
	// Output:
	// [10]
	// [1 3 6 10]
	// [4 3 2 1]
}

// A rounding that lets the gradient through, for training with rounded weights.
func ExampleCustomGradient() {
	g := ops.NewGraph("straight_through")
	x := g.Input("x", ir.Float64, 3)
	y := ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
		return []*ops.Tensor{ops.Round(xs[0])}, func(dys []*ops.Tensor) []*ops.Tensor { return dys }
	}, x)[0]
	dx := ops.Grad(ops.Square(y), x)[0]
	print(g, []*ops.Tensor{y, dx}, value(ir.Shape{3}, 0.4, 1.6, -2.2))
	// Output:
	// [0 2 -2]
	// [0 4 -4]
}

func ExampleStopGradient() {
	g := ops.NewGraph("stop")
	x := g.Input("x", ir.Float64)
	y := ops.Multiply(x, ops.StopGradient(x))
	print(g, []*ops.Tensor{y, ops.Grad(y, x)[0]}, value(nil, 3))
	// Output:
	// [9]
	// [3]
}

func ExampleCond() {
	g := ops.NewGraph("cond")
	x := g.Input("x", ir.Float64)
	root := ops.Cond(ops.CompareScalar(ir.Ge, x, 0),
		func() []*ops.Tensor { return []*ops.Tensor{ops.Sqrt(x)} },
		func() []*ops.Tensor { return []*ops.Tensor{ops.Zeros(g, ir.Float64)} })
	print(g, root, value(nil, 16))
	// Output:
	// [4]
}

// The function is written for one row; both are computed at once.
func ExampleVectorizedMap() {
	g := ops.NewGraph("map")
	x := g.Input("x", ir.Float64, 2, 2)
	norms := ops.VectorizedMap(func(row []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Sqrt(ops.Sum(ops.Square(row[0])))}
	}, x)
	print(g, norms, value(ir.Shape{2, 2}, 3, 4, 6, 8))
	// Output:
	// [5 10]
}

func ExampleEinsum() {
	g := ops.NewGraph("einsum")
	a, b := g.Input("a", ir.Float64, 2, 2), g.Input("b", ir.Float64, 2)
	print(g, []*ops.Tensor{ops.Einsum("ij,j->i", a, b)}, value(ir.Shape{2, 2}, 1, 2, 3, 4), value(ir.Shape{2}, 10, 1))
	// Output:
	// [12 34]
}

func ExampleCatch() {
	trace := func() (err error) {
		defer ops.Catch(&err)
		g := ops.NewGraph("model")
		x := g.Input("x", ir.Float32, 8, 3)
		g.InScope("dense_1", func() { ops.Matmul(x, ops.Zeros(g, ir.Float32, 4, 10)) })
		return nil
	}
	fmt.Println(trace())
	// Output:
	// dense_1: matmul: shapes [8 3] and [4 10] do not fit: the last axis of the first (3) must equal axis 0 of the second (4)
}

func ExampleParseDTypePolicy() {
	p, err := ops.ParseDTypePolicy("mixed_bfloat16")
	fmt.Println(p.Compute, p.Variable, err)
	// Output:
	// bfloat16 float32 <nil>
}

func ExampleCheckNumerics() {
	g := ops.NewGraph("example")
	x := g.Input("x", ir.Float64, 2)
	g.InScope("my_layer", func() {
		y := ops.CheckNumerics(ops.Log(x), "the logarithm")
		print(g, []*ops.Tensor{y}, value(ir.Shape{2}, 1, 0))
	})
	// Output:
	// my_layer: check_finite: my_layer: the logarithm is NaN or infinite (element [1] of shape [2]); lower the learning rate, clip gradients, or look for such numbers in the data
}
