package ops_test

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

func ExampleTensor() {
	g := ops.NewGraph("example")
	x := g.Input("x", ir.Float32, 2, 3)
	fmt.Println(x.Type(), x.Rank(), x.Dim(-1))
	// Output: float32[2 3] 2 3
}

func ExampleDTypePolicyMap() {
	m, err := ops.NewDTypePolicyMap("float32")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(m.Set("encoder/.*", "mixed_bfloat16"), m.Set("encoder/head", "int8_from_float32")); err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"encoder/query", "encoder/head", "decoder"} {
		policy, err := m.Get(path)
		fmt.Println(path, policy, err)
	}
	fmt.Println(m) // goes into DType of layers
	// Output:
	// encoder/query mixed_bfloat16 <nil>
	// encoder/head int8_from_float32 <nil>
	// decoder float32 <nil>
	// {"default_policy":"float32","policy_map":{"encoder/.*":"mixed_bfloat16","encoder/head":"int8_from_float32"}}
}

func ExampleGradients() {
	g := ops.NewGraph("example")
	x := g.Input("x", ir.Float64)
	d := ops.NewTape(g).Gradients(ops.Square(x), x)
	print(g, d.Values, value(nil, 3))
	// Output: [6]
}

func ExampleScanOptions() {
	g := ops.NewGraph("suffix_sums")
	x := g.Input("x", ir.Float64, 3)
	_, sums := ops.Scan(func(carry, xs []*ops.Tensor) (next, ys []*ops.Tensor) {
		sum := ops.Add(carry[0], xs[0])
		return []*ops.Tensor{sum}, []*ops.Tensor{sum}
	}, []*ops.Tensor{ops.Zeros(g, ir.Float64)}, []*ops.Tensor{x}, ops.ScanOptions{Reverse: true})
	print(g, sums, value(ir.Shape{3}, 1, 2, 3))
	// Output: [6 5 3]
}

// The input is (batch, length, channels), the kernel (length, channels in, channels out).
func ExampleConvOptions() {
	g := ops.NewGraph("differences")
	x, kernel := g.Input("x", ir.Float64, 1, 5, 1), g.Input("kernel", ir.Float64, 2, 1, 1)
	y := ops.Conv(x, kernel, ops.ConvOptions{Strides: []int{2}})
	print(g, []*ops.Tensor{y}, value(ir.Shape{1, 5, 1}, 1, 4, 9, 16, 25), value(ir.Shape{2, 1, 1}, -1, 1))
	// Output: [3 7]
}

func ExamplePoolOptions() {
	g := ops.NewGraph("maxima")
	x := g.Input("x", ir.Float64, 1, 5, 1)
	y := ops.MaxPool(x, ops.PoolOptions{Window: []int{3}, Strides: []int{1}})
	print(g, []*ops.Tensor{y}, value(ir.Shape{1, 5, 1}, 3, 1, 4, 1, 5))
	// Output: [4 4 5]
}

func ExampleDTypePolicy() {
	p, err := ops.ParseDTypePolicy("mixed_bfloat16")
	fmt.Println(p.Compute, p.Variable, err)
	// Output: bfloat16 float32 <nil>
}

// A mistake stops the trace; the function that started the trace returns it as an error.
func ExampleError() {
	build := func() (err error) {
		defer ops.Catch(&err)
		g := ops.NewGraph("example")
		g.InScope("dense", func() { ops.Matmul(g.Input("x", ir.Float32, 2, 3), g.Input("w", ir.Float32, 4, 5)) })
		return nil
	}
	var mistake *ops.Error
	fmt.Println(errors.As(build(), &mistake), mistake.Path)
	// Output: true dense
}
