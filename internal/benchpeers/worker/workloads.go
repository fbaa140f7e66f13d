package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// workload is a model with its data, the same in every framework that is measured.
type workload struct {
	batch int     // of training
	unit  string  // what rates count
	units float64 // in one example
	steps int     // of one measured epoch, as Keras's workers have it
	flops float64 // of one example's forward pass: products and convolutions only; a training step counts three times that
	model func(s distribute.Strategy) (*keras.Model, error)
	data  func(r *rand.Rand, n int) (x, y data.Array)
	loss  func() losses.Loss
}

// Sizes of the transformer and of the recurrent network.
const (
	vocabulary, steps4, width4, heads4, layers4, inner4 = 1000, 128, 128, 4, 4, 512
	words5, width5, units5, steps5                      = 5000, 64, 128, 100
	patches6, width6, heads6, layers6, inner6           = 64, 192, 3, 6, 768
)

var workloads = map[string]*workload{
	"W1":  {batch: 64, unit: "img", units: 1, steps: 200, flops: 2 * (784*512 + 512*512 + 512*10), model: perceptron, data: images(784), loss: classes},
	"W2":  {batch: 64, unit: "img", units: 1, steps: 100, flops: 2 * (26*26*32*9 + 5408*64 + 64*10), model: convolutional, data: images(28, 28, 1), loss: classes},
	"W3":  {batch: 64, unit: "img", units: 1, steps: 4, flops: residualFlops(), model: residual, data: images(32, 32, 3), loss: classes},
	"W4":  {batch: 16, unit: "tok", units: steps4, steps: 8, flops: steps4 * 2 * (layers4*(4*width4*width4+2*width4*inner4+2*steps4*width4) + width4*vocabulary), model: transformer, data: sentences, loss: classes},
	"W5":  {batch: 64, unit: "seq", units: 1, steps: 10, flops: 2 * steps5 * (width5 + units5) * 4 * units5, model: recurrent, data: reviews, loss: func() losses.Loss { return &losses.BinaryCrossentropy{FromLogits: true} }},
	"W6":  {batch: 32, unit: "img", units: 1, steps: 4, flops: patches6 * 2 * (16*3*width6 + layers6*(4*width6*width6+2*width6*inner6+2*patches6*width6)), model: vision, data: images(32, 32, 3), loss: classes},
	"W10": {batch: 10, unit: "step", units: 0.1, steps: 1000, model: line, data: points, loss: func() losses.Loss { return &losses.MeanSquaredError{} }},
}

func classes() losses.Loss { return &losses.SparseCategoricalCrossentropy{FromLogits: true} }

func residualFlops() float64 {
	flops, channels, size := 32*32*3*16*9, 16, 32
	for stage, width := range []int{16, 32, 64} {
		for block := range 3 {
			if stage > 0 && block == 0 {
				size /= 2
				flops += size * size * channels * width
			}
			flops += size * size * width * 9 * (channels + width)
			channels = width
		}
	}
	return 2 * float64(flops+64*10)
}

// optimizer returns the optimizer of a name in the protocol.
func optimizer(name string) (optimizers.Optimizer, error) {
	switch name {
	case "sgd":
		return &optimizers.SGD{LearningRate: 0.01}, nil
	case "mom":
		return &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9}, nil
	case "adam":
		return &optimizers.Adam{LearningRate: 1e-3}, nil
	case "adamw":
		return &optimizers.AdamW{LearningRate: 1e-3, WeightDecay: new(0.01)}, nil
	case "rmsprop":
		return &optimizers.RMSprop{LearningRate: 1e-3}, nil
	}
	return nil, fmt.Errorf("unknown optimizer %q", name)
}

// policy is the dtype policy of the models: "" for Keras's default.
var policy string

// options are those that all models have.
func options(s distribute.Strategy, more ...keras.Option) []keras.Option {
	if policy != "" {
		more = append(more, keras.DTypePolicy(policy))
	}
	return append(more, distribute.Scope(s))
}

func perceptron(s distribute.Strategy) (*keras.Model, error) {
	return keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 512, Activation: "relu"},
		&layers.Dense{Units: 512, Activation: "relu"},
		&layers.Dense{Units: 10},
	}, options(s, keras.InputShape(784))...)
}

func convolutional(s distribute.Strategy) (*keras.Model, error) {
	return keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dense{Units: 64, Activation: "relu"},
		&layers.Dense{Units: 10},
	}, options(s, keras.InputShape(28, 28, 1))...)
}

func residual(s distribute.Strategy) (*keras.Model, error) {
	conv := func(x *layers.KerasTensor, filters, kernel, stride int) *layers.KerasTensor {
		x = layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", NoBias: true}, x)
		return layers.Apply(&layers.BatchNormalization{}, x)
	}
	relu := func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(&layers.ReLU{}, x) }
	input := keras.Input(keras.Shape(32, 32, 3))
	x := relu(conv(input, 16, 3, 1))
	for stage, filters := range []int{16, 32, 64} {
		for block := range 3 {
			stride, shortcut := 1, x
			if stage > 0 && block == 0 {
				stride = 2
				shortcut = conv(x, filters, 1, stride)
			}
			y := conv(relu(conv(x, filters, 3, stride)), filters, 3, 1)
			x = relu(layers.Apply(&layers.Add{}, shortcut, y))
		}
	}
	x = layers.Apply(&layers.Dense{Units: 10}, layers.Apply(&layers.GlobalAveragePooling2D{}, x))
	return keras.NewFunctional(keras.Inputs(input), keras.Outputs(x), options(s)...)
}

// position adds a learned vector for each place in a sequence.
type position struct {
	layers.Base

	table *distribute.Variable
}

// Build creates the vectors.
func (l *position) Build(b *layers.Builder, in []ir.Shape) {
	l.table = b.AddWeight("p", in[0][1:], layers.WeightOptions{Initializer: &initializers.RandomNormal{}})
}

// Forward computes the layer.
func (l *position) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Add(in[0], c.Read(l.table))}
}

func transformer(s distribute.Strategy) (*keras.Model, error) {
	norm := func(x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.LayerNormalization{Epsilon: new(1e-5)}, x)
	}
	input := keras.Input(keras.Shape(steps4), keras.DType("int32"))
	x := layers.Apply(&position{}, layers.Apply(&layers.Embedding{InputDim: vocabulary, OutputDim: width4}, input))
	for range layers4 {
		y := norm(x)
		y = layers.Apply(&layers.MultiHeadAttention{NumHeads: heads4, KeyDim: width4 / heads4, UseCausalMask: true}, y, y)
		x = layers.Apply(&layers.Add{}, x, y)
		y = layers.Apply(&layers.Dense{Units: inner4, Activation: "gelu"}, norm(x))
		x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: width4}, y))
	}
	return keras.NewFunctional(keras.Inputs(input), keras.Outputs(layers.Apply(&layers.Dense{Units: vocabulary}, norm(x))), options(s)...)
}

// vision is a small vision transformer on patches of 4 x 4.
func vision(s distribute.Strategy) (*keras.Model, error) {
	norm := func(x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.LayerNormalization{Epsilon: new(1e-5)}, x)
	}
	input := keras.Input(keras.Shape(32, 32, 3))
	x := layers.Apply(&layers.Conv2D{Filters: width6, KernelSize: []int{4}, Strides: []int{4}}, input)
	x = layers.Apply(&position{}, layers.Apply(&layers.Reshape{TargetShape: []int{patches6, width6}}, x))
	for range layers6 {
		y := norm(x)
		y = layers.Apply(&layers.MultiHeadAttention{NumHeads: heads6, KeyDim: width6 / heads6}, y, y)
		x = layers.Apply(&layers.Add{}, x, y)
		y = layers.Apply(&layers.Dense{Units: inner6, Activation: "gelu"}, norm(x))
		x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: width6}, y))
	}
	x = layers.Apply(&layers.GlobalAveragePooling1D{}, norm(x))
	return keras.NewFunctional(keras.Inputs(input), keras.Outputs(layers.Apply(&layers.Dense{Units: 10}, x)), options(s)...)
}

func recurrent(s distribute.Strategy) (*keras.Model, error) {
	return keras.NewSequential([]layers.Layer{
		&layers.Embedding{InputDim: words5, OutputDim: width5},
		&layers.LSTM{Units: units5},
		&layers.Dense{Units: 1},
	}, options(s)...)
}

func line(s distribute.Strategy) (*keras.Model, error) {
	return keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, options(s, keras.InputShape(1))...)
}

// floats fills an array with numbers in [0, 1).
func floats(r *rand.Rand, shape ...int) data.Array {
	x := make([]float32, ir.Shape(shape).Size())
	for i := range x {
		x[i] = r.Float32()
	}
	return data.Must(data.ArrayOf(x, shape...))
}

// integers fills an array with numbers in [0, end).
func integers(r *rand.Rand, end int, shape ...int) data.Array {
	x := make([]int32, ir.Shape(shape).Size())
	for i := range x {
		x[i] = int32(r.IntN(end))
	}
	return data.Must(data.ArrayOf(x, shape...))
}

func images(shape ...int) func(r *rand.Rand, n int) (x, y data.Array) {
	return func(r *rand.Rand, n int) (x, y data.Array) {
		return floats(r, append([]int{n}, shape...)...), integers(r, 10, n)
	}
}

// sentences are tokens and, for each, the one that follows.
func sentences(r *rand.Rand, n int) (x, y data.Array) {
	all := integers(r, vocabulary, n, steps4+1).Elements().([]int32)
	var now, next []int32
	for i := range n {
		line := all[i*(steps4+1) : (i+1)*(steps4+1)]
		now, next = append(now, line[:steps4]...), append(next, line[1:]...)
	}
	return data.Must(data.ArrayOf(now, n, steps4)), data.Must(data.ArrayOf(next, n, steps4))
}

func reviews(r *rand.Rand, n int) (x, y data.Array) {
	good := make([]float32, n)
	for i := range good {
		good[i] = float32(r.IntN(2))
	}
	return integers(r, words5, n, steps5), data.Must(data.ArrayOf(good, n, 1))
}

func points(r *rand.Rand, n int) (x, y data.Array) { return floats(r, n, 1), floats(r, n, 1) }
