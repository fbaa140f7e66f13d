package layers_test

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// tensor is an example's input: its shape and its elements.
type tensor struct {
	shape  ir.Shape
	values []float64
}

// in makes an input; without values, its elements count up from 1.
func in(shape ir.Shape, values ...float64) tensor {
	for i := len(values); i < shape.Size(); i++ {
		values = append(values, float64(i+1))
	}
	return tensor{shape, values}
}

// show calls a layer and prints the shape and the elements of the result.
func show(l layers.Layer, inputs ...tensor) { call(l, false, inputs) }

// train is show for a training step.
func train(l layers.Layer, inputs ...tensor) { call(l, true, inputs) }

func call(l layers.Layer, training bool, inputs []tensor) {
	y, err := evaluate(l, training, inputs)
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	parts := make([]string, y.Type.Shape.Size())
	for i := range parts {
		parts[i] = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", y.At(i)+0), "0"), ".")
	}
	fmt.Println(layers.ShapeString(y.Type.Shape), parts)
}

func evaluate(l layers.Layer, training bool, inputs []tensor) (y reference.Value, err error) {
	return evaluateAs(l, training, ir.Float32, inputs)
}

// evaluateAs is evaluate for inputs of another type.
func evaluateAs(l layers.Layer, training bool, dtype ir.DType, inputs []tensor) (y reference.Value, err error) {
	defer ops.Catch(&err)
	batch := inputs[0].shape[0]
	r := distribute.NewReplica("example", 1, batch, batch)
	context := r.Inference()
	if training {
		context = r.Training()
	}
	var xs []*ops.Tensor
	var values []reference.Value
	for _, t := range inputs {
		xs = append(xs, r.Graph().Input("x", dtype, t.shape...))
		v, err := reference.New(dtype, t.shape, t.values...)
		if err != nil {
			return y, err
		}
		values = append(values, v)
	}
	out := layers.Invoke(l, context, xs...)
	p := r.Graph().Program()
	p.AddOutput("y", out.Value())
	weights := map[string]*distribute.Variable{}
	for _, v := range layers.Weights(l) {
		weights[v.Path()] = v
	}
	for _, input := range p.Inputs[len(inputs):] {
		t := p.Type(input.Value)
		data := []float64{1, 2, 3, 4} // the random state
		if w := weights[input.Name]; w != nil {
			value, err := w.Value()
			if err != nil {
				return y, err
			}
			data = value.Float64s()
		}
		v, err := reference.New(t.DType, t.Shape, data...)
		if err != nil {
			return y, err
		}
		values = append(values, v)
	}
	results, err := reference.Run(p, values)
	if err != nil {
		return y, err
	}
	return results[0], nil
}

func Example() {
	image := layers.NewInput("image", ir.Float32, layers.Unknown, 28, 28, 1)
	x := layers.Apply(&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"}, image)
	x = layers.Apply(&layers.MaxPooling2D{}, x)
	x = layers.Apply(&layers.Flatten{}, x)
	x = layers.Apply(&layers.Dense{Units: 10}, x)
	fmt.Println(x, x.Err())
	// Output: (None, 10) float32 <nil>
}

func ExampleDense() {
	show(&layers.Dense{Units: 2, KernelInitializer: "ones", Activation: "relu"}, in(ir.Shape{1, 3}))
	// Output: (1, 2) [6 6]
}

func ExampleEinsumDense() {
	show(&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{layers.Unknown, 2}, KernelInitializer: "ones"}, in(ir.Shape{1, 2, 2}))
	// Output: (1, 2, 2) [3 3 7 7]
}

func ExampleEmbedding() {
	show(&layers.Embedding{InputDim: 4, OutputDim: 2, EmbeddingsInitializer: "ones"}, in(ir.Shape{1, 3}, 2, 0, 1))
	// Output: (1, 3, 2) [1 1 1 1 1 1]
}

func ExampleIdentity() {
	show(&layers.Identity{}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [1 2 3]
}

func ExampleActivation() {
	show(&layers.Activation{Activation: "relu"}, in(ir.Shape{1, 3}, -1, 0, 2))
	// Output: (1, 3) [0 0 2]
}

func ExampleLambda() {
	show(&layers.Lambda{Function: ops.Square}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [1 4 9]
}

func ExampleMasking() {
	show(&layers.Masking{MaskValue: 5}, in(ir.Shape{1, 2, 2}, 5, 5, 5, 1))
	// Output: (1, 2, 2) [0 0 5 1]
}

func ExampleInputLayer() {
	t, err := (&layers.InputLayer{Shape: []int{28, 28, 1}}).Tensor()
	fmt.Println(t, err)
	// Output: (None, 28, 28, 1) float32 <nil>
}

func ExampleReLU() {
	show(&layers.ReLU{MaxValue: new(3.0)}, in(ir.Shape{1, 3}, -1, 2, 5))
	// Output: (1, 3) [0 2 3]
}

func ExampleLeakyReLU() {
	show(&layers.LeakyReLU{}, in(ir.Shape{1, 2}, -1, 2))
	// Output: (1, 2) [-0.3 2]
}

func ExampleELU() {
	show(&layers.ELU{}, in(ir.Shape{1, 2}, -1, 2))
	// Output: (1, 2) [-0.63 2]
}

func ExamplePReLU() {
	show(&layers.PReLU{AlphaInitializer: "ones"}, in(ir.Shape{1, 2}, -1, 2))
	// Output: (1, 2) [-1 2]
}

func ExampleSoftmax() {
	show(&layers.Softmax{}, in(ir.Shape{1, 3}, 0, 0, 1))
	// Output: (1, 3) [0.21 0.21 0.58]
}

func ExampleConv1D() {
	show(&layers.Conv1D{Filters: 1, KernelSize: []int{2}, Padding: layers.Causal, KernelInitializer: "ones"}, in(ir.Shape{1, 4, 1}))
	// Output: (1, 4, 1) [1 3 5 7]
}

func ExampleConv2D() {
	show(&layers.Conv2D{Filters: 1, KernelSize: []int{2}, KernelInitializer: "ones"}, in(ir.Shape{1, 3, 3, 1}))
	// Output: (1, 2, 2, 1) [12 16 24 28]
}

func ExampleConv3D() {
	show(&layers.Conv3D{Filters: 1, KernelSize: []int{2}, KernelInitializer: "ones"}, in(ir.Shape{1, 2, 2, 3, 1}))
	// Output: (1, 1, 1, 2, 1) [48 56]
}

func ExampleConv1DTranspose() {
	show(&layers.Conv1DTranspose{Filters: 1, KernelSize: []int{3}, Strides: []int{2}, KernelInitializer: "ones"}, in(ir.Shape{1, 2, 1}))
	// Output: (1, 5, 1) [1 1 3 2 2]
}

func ExampleConv2DTranspose() {
	show(&layers.Conv2DTranspose{Filters: 1, KernelSize: []int{2}, Strides: []int{2}, KernelInitializer: "ones"}, in(ir.Shape{1, 1, 2, 1}))
	// Output: (1, 2, 4, 1) [1 1 2 2 1 1 2 2]
}

func ExampleConv3DTranspose() {
	show(&layers.Conv3DTranspose{Filters: 1, KernelSize: []int{1, 1, 2}, KernelInitializer: "ones"}, in(ir.Shape{1, 1, 1, 2, 1}))
	// Output: (1, 1, 1, 3, 1) [1 3 2]
}

func ExampleDepthwiseConv1D() {
	show(&layers.DepthwiseConv1D{KernelSize: []int{2}, DepthwiseInitializer: "ones"}, in(ir.Shape{1, 3, 2}))
	// Output: (1, 2, 2) [4 6 8 10]
}

func ExampleDepthwiseConv2D() {
	show(&layers.DepthwiseConv2D{KernelSize: []int{2, 1}, DepthwiseInitializer: "ones"}, in(ir.Shape{1, 2, 1, 3}))
	// Output: (1, 1, 1, 3) [5 7 9]
}

func ExampleSeparableConv1D() {
	show(&layers.SeparableConv1D{Filters: 1, KernelSize: []int{2}, DepthwiseInitializer: "ones", PointwiseInitializer: "ones"}, in(ir.Shape{1, 3, 2}))
	// Output: (1, 2, 1) [10 18]
}

func ExampleSeparableConv2D() {
	show(&layers.SeparableConv2D{Filters: 1, KernelSize: []int{2, 1}, DepthwiseInitializer: "ones", PointwiseInitializer: "ones"}, in(ir.Shape{1, 2, 1, 3}))
	// Output: (1, 1, 1, 1) [21]
}

func ExampleMaxPooling1D() {
	show(&layers.MaxPooling1D{}, in(ir.Shape{1, 4, 1}))
	// Output: (1, 2, 1) [2 4]
}

func ExampleMaxPooling2D() {
	show(&layers.MaxPooling2D{PoolSize: []int{2, 3}}, in(ir.Shape{1, 2, 3, 1}))
	// Output: (1, 1, 1, 1) [6]
}

func ExampleMaxPooling3D() {
	show(&layers.MaxPooling3D{}, in(ir.Shape{1, 2, 2, 2, 1}))
	// Output: (1, 1, 1, 1, 1) [8]
}

func ExampleAveragePooling1D() {
	show(&layers.AveragePooling1D{PoolSize: []int{2}, Padding: layers.Same}, in(ir.Shape{1, 3, 1}))
	// Output: (1, 2, 1) [1.5 3]
}

func ExampleAveragePooling2D() {
	show(&layers.AveragePooling2D{PoolSize: []int{2}}, in(ir.Shape{1, 2, 2, 1}))
	// Output: (1, 1, 1, 1) [2.5]
}

func ExampleAveragePooling3D() {
	show(&layers.AveragePooling3D{PoolSize: []int{2}}, in(ir.Shape{1, 2, 2, 2, 1}))
	// Output: (1, 1, 1, 1, 1) [4.5]
}

func ExampleGlobalMaxPooling1D() {
	show(&layers.GlobalMaxPooling1D{}, in(ir.Shape{1, 3, 2}))
	// Output: (1, 2) [5 6]
}

func ExampleGlobalMaxPooling2D() {
	show(&layers.GlobalMaxPooling2D{}, in(ir.Shape{1, 2, 2, 1}))
	// Output: (1, 1) [4]
}

func ExampleGlobalMaxPooling3D() {
	show(&layers.GlobalMaxPooling3D{}, in(ir.Shape{1, 2, 2, 2, 1}))
	// Output: (1, 1) [8]
}

func ExampleGlobalAveragePooling1D() {
	show(&layers.GlobalAveragePooling1D{}, in(ir.Shape{1, 3, 2}))
	// Output: (1, 2) [3 4]
}

func ExampleGlobalAveragePooling2D() {
	show(&layers.GlobalAveragePooling2D{KeepDims: true}, in(ir.Shape{1, 2, 2, 1}))
	// Output: (1, 1, 1, 1) [2.5]
}

func ExampleGlobalAveragePooling3D() {
	show(&layers.GlobalAveragePooling3D{}, in(ir.Shape{1, 2, 2, 2, 1}))
	// Output: (1, 1) [4.5]
}

func ExampleAdaptiveAveragePooling1D() {
	show(&layers.AdaptiveAveragePooling1D{OutputSize: []int{2}}, in(ir.Shape{1, 3, 1}))
	// Output: (1, 2, 1) [1.5 2.5]
}

func ExampleAdaptiveAveragePooling2D() {
	show(&layers.AdaptiveAveragePooling2D{OutputSize: []int{1}}, in(ir.Shape{1, 2, 3, 1}))
	// Output: (1, 1, 1, 1) [3.5]
}

func ExampleAdaptiveAveragePooling3D() {
	show(&layers.AdaptiveAveragePooling3D{OutputSize: []int{1}}, in(ir.Shape{1, 2, 2, 2, 1}))
	// Output: (1, 1, 1, 1, 1) [4.5]
}

func ExampleAdaptiveMaxPooling1D() {
	show(&layers.AdaptiveMaxPooling1D{OutputSize: []int{2}}, in(ir.Shape{1, 3, 1}))
	// Output: (1, 2, 1) [2 3]
}

func ExampleAdaptiveMaxPooling2D() {
	show(&layers.AdaptiveMaxPooling2D{OutputSize: []int{2, 1}}, in(ir.Shape{1, 2, 3, 1}))
	// Output: (1, 2, 1, 1) [3 6]
}

func ExampleAdaptiveMaxPooling3D() {
	show(&layers.AdaptiveMaxPooling3D{OutputSize: []int{1}}, in(ir.Shape{1, 2, 2, 2, 1}))
	// Output: (1, 1, 1, 1, 1) [8]
}
