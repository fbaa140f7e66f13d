package main

import (
	"math/rand/v2"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// drawn is a network drawn at random, with the optimizer that trains it.
type drawn struct {
	model     *keras.Model
	optimizer string
	what      string // the layer, where it is one
}

// draw makes the network of a number: images, sequences of vectors, sequences of words or rows, with layers, widths,
// depths and activations drawn at random. The same number is the same network everywhere.
func draw(number uint64, more ...keras.Option) (drawn, error) {
	d := drawer{rand.New(rand.NewPCG(number, 16))}
	input, x := d.network(int(number % 4))
	y := layers.Apply(&layers.Dense{Units: d.between(1, 100)}, x)
	m, err := keras.NewFunctional(keras.Inputs(input), keras.Outputs(y), append(more, keras.Seed(number))...)
	return drawn{model: m, optimizer: pick(d, "sgd", "mom", "adam", "adamw", "rmsprop")}, err
}

type drawer struct{ *rand.Rand }

func (d drawer) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d drawer, from ...T) T { return from[d.IntN(len(from))] }

func (d drawer) activation() string {
	return pick(d, "relu", "relu", "gelu", "silu", "elu", "selu", "tanh", "leaky_relu", "softplus", "hard_silu", "mish", "sigmoid", "relu6")
}

// network draws everything before the last layer.
func (d drawer) network(kind int) (input, y *layers.KerasTensor) {
	switch kind {
	case 0:
		return d.images()
	case 1:
		steps := d.between(16, 200)
		input = keras.Input(keras.Shape(steps, d.between(3, 64)))
		return input, d.sequence(input)
	case 2:
		input = keras.Input(keras.Shape(d.between(16, 128)), keras.DType("int32"))
		x := layers.Apply(&layers.Embedding{InputDim: d.between(100, 20000), OutputDim: 8 * d.between(4, 24)}, input)
		return input, d.sequence(x)
	}
	input = keras.Input(keras.Shape(d.between(5, 1000)))
	x := input
	for range d.between(1, 6) {
		x = layers.Apply(&layers.Dense{Units: d.between(16, 1024), Activation: d.activation()}, x)
		x = d.normalized(x, 0.4)
		if d.IntN(3) == 0 {
			x = layers.Apply(&layers.Dropout{Rate: 0.2}, x)
		}
	}
	return input, x
}

// normalized applies a normalization with a probability.
func (d drawer) normalized(x *layers.KerasTensor, probability float64) *layers.KerasTensor {
	if d.Float64() >= probability {
		return x
	}
	if d.IntN(2) == 0 {
		return layers.Apply(&layers.LayerNormalization{}, x)
	}
	return layers.Apply(&layers.BatchNormalization{}, x)
}

func (d drawer) images() (input, y *layers.KerasTensor) {
	size := d.between(24, 96)
	input = keras.Input(keras.Shape(size, d.between(24, 96), pick(d, 1, 3, 4)))
	x, channels := input, 0
	for block := range d.between(2, 5) {
		stride := 1
		if block > 0 && size >= 8 {
			stride, size = 2, size/2
		}
		next := 4 * d.between(4, 40)
		activation := d.activation()
		switch kernel := pick(d, 1, 3, 3, 3, 5, 7); d.IntN(4) {
		case 0:
			x = layers.Apply(&layers.SeparableConv2D{Filters: next, KernelSize: []int{max(kernel, 3)}, Strides: []int{stride}, Padding: "same", Activation: activation}, x)
		case 1:
			x = layers.Apply(&layers.DepthwiseConv2D{KernelSize: []int{max(kernel, 3)}, Strides: []int{stride}, Padding: "same", NoBias: true}, x)
			x = d.normalized(x, 0.8)
			x = layers.Apply(&layers.Conv2D{Filters: next, KernelSize: []int{1}, Activation: activation}, x)
		default:
			x = layers.Apply(&layers.Conv2D{Filters: next, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", NoBias: true}, x)
			x = d.normalized(x, 0.8)
			x = layers.Apply(&layers.Activation{Activation: activation}, x)
		}
		channels = next
		if d.IntN(2) == 0 {
			z := layers.Apply(&layers.Conv2D{Filters: channels, KernelSize: []int{3}, Padding: "same", Activation: d.activation()}, x)
			x = layers.Apply(&layers.Add{}, x, d.normalized(z, 0.5))
		}
		if d.IntN(4) == 0 && size >= 8 {
			size /= 2
			x = pick(d, func() *layers.KerasTensor { return layers.Apply(&layers.MaxPooling2D{PoolSize: []int{2}}, x) }, func() *layers.KerasTensor { return layers.Apply(&layers.AveragePooling2D{PoolSize: []int{2}}, x) })()
		}
	}
	return input, layers.Apply(&layers.GlobalAveragePooling2D{}, x)
}

// sequence draws layers over the steps of a sequence.
func (d drawer) sequence(x *layers.KerasTensor) *layers.KerasTensor {
	for range d.between(1, 3) {
		width := 8 * d.between(2, 24)
		switch d.IntN(5) {
		case 0:
			x = layers.Apply(&layers.LSTM{Units: width, ReturnSequences: true}, x)
		case 1:
			x = layers.Apply(&layers.GRU{Units: width, ReturnSequences: true}, x)
		case 2:
			x = layers.Apply(&layers.Dense{Units: width}, x)
			heads := pick(d, 2, 4, 8)
			y := layers.Apply(&layers.LayerNormalization{}, x)
			x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.MultiHeadAttention{NumHeads: heads, KeyDim: max(width/heads, 4)}, y, y))
			y = layers.Apply(&layers.Dense{Units: 4 * width, Activation: d.activation()}, layers.Apply(&layers.LayerNormalization{}, x))
			x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: width}, y))
		case 3:
			x = layers.Apply(&layers.Bidirectional{Layer: &layers.LSTM{Units: width / 2, ReturnSequences: true}}, x)
		default:
			x = layers.Apply(&layers.Conv1D{Filters: width, KernelSize: []int{d.between(2, 7)}, Padding: "same", Activation: d.activation()}, x)
			x = d.normalized(x, 0.5)
		}
	}
	return layers.Apply(&layers.GlobalAveragePooling1D{}, x)
}
