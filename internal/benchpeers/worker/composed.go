package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// compositions are the kinds of composed networks, in the order of their numbers.
var compositions = []func(composer) (inputs []*layers.KerasTensor, y *layers.KerasTensor){
	composer.segmentation, composer.autoencoder, composer.generator, composer.mixer, composer.depthwise, composer.volume, composer.video,
	composer.branches, composer.dense, composer.recommender, composer.translation, composer.dilated, composer.points, composer.decoder, composer.texts,
	composer.windowed, composer.diffusion, composer.upscaler, composer.detector, composer.translator, composer.rays, composer.patches, composer.similarity, composer.towers, composer.atrous,
	composer.messages, composer.selected, composer.experts, composer.states,
}

// composed makes the network of a number in the manner of published examples, where draw makes one of layers in a row:
// decoders with skips and transposed convolutions, branches that are joined, several inputs, volumes, graphs, recurrent
// convolutions, attention in windows, rays, heads on several scales, losses inside of the network. Sizes, depths and
// activations are drawn at random; kinds come in turn.
func composed(number uint64, more ...keras.Option) (drawn, error) {
	c := composer{drawer{rand.New(rand.NewPCG(number, 19))}}
	inputs, y := compositions[number%uint64(len(compositions))](c)
	m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(y), append(more, keras.Seed(number))...)
	if err != nil {
		return drawn{}, fmt.Errorf("composed network %d: %w", number, err)
	}
	return drawn{model: m, optimizer: pick(c.drawer, "sgd", "mom", "adam", "adamw", "rmsprop")}, nil
}

type composer struct{ drawer }

func alone(x *layers.KerasTensor) []*layers.KerasTensor { return []*layers.KerasTensor{x} }

// convolved applies a convolution of images, a batch normalization and an activation.
func (c composer) convolved(x *layers.KerasTensor, filters, kernel, stride int, activation string) *layers.KerasTensor {
	x = layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", NoBias: true}, x)
	return layers.Apply(&layers.Activation{Activation: activation}, layers.Apply(&layers.BatchNormalization{}, x))
}

// segmentation is an encoder and a decoder of images with skips between them.
func (c composer) segmentation() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, filters, activation, up := pick(c.drawer, 32, 48, 64), pick(c.drawer, 8, 12, 16, 24), c.activation(), c.IntN(3)
	input := keras.Input(keras.Shape(size, size, pick(c.drawer, 1, 3)))
	x, depth := input, c.between(2, 3)
	var skips []*layers.KerasTensor
	for level := range depth {
		x = c.convolved(c.convolved(x, filters<<level, 3, 1, activation), filters<<level, 3, 1, activation)
		skips = append(skips, x)
		x = layers.Apply(&layers.MaxPooling2D{}, x)
	}
	x = c.convolved(x, filters<<depth, 3, 1, activation)
	for level := depth - 1; level >= 0; level-- {
		if up == 0 {
			x = layers.Apply(&layers.Conv2DTranspose{Filters: filters << level, KernelSize: []int{c.between(2, 3)}, Strides: []int{2}, Padding: "same"}, x)
		} else {
			x = layers.Apply(&layers.UpSampling2D{Interpolation: []layers.Interpolation{"", "nearest", "bilinear"}[up]}, x)
		}
		x = c.convolved(layers.Apply(&layers.Concatenate{}, x, skips[level]), filters<<level, 3, 1, activation)
	}
	return alone(input), layers.Apply(&layers.Conv2D{Filters: pick(c.drawer, 1, 3, 21), KernelSize: []int{1}, Activation: "sigmoid"}, x)
}

// autoencoder squeezes images into a few numbers and makes them again.
func (c composer) autoencoder() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input := keras.Input(keras.Shape(28, 28, 1))
	filters, activation, x := pick(c.drawer, 16, 32, 64), c.activation(), input
	for level := range 2 {
		x = layers.Apply(&layers.Conv2D{Filters: filters << level, KernelSize: []int{3}, Strides: []int{2}, Padding: "same", Activation: activation}, x)
	}
	x = layers.Apply(&layers.Dense{Units: pick(c.drawer, 2, 16, 64)}, layers.Apply(&layers.Flatten{}, x))
	x = layers.Apply(&layers.Dense{Units: 7 * 7 * 2 * filters, Activation: activation}, x)
	x = layers.Apply(&layers.Reshape{TargetShape: []int{7, 7, 2 * filters}}, x)
	for level := 1; level >= 0; level-- {
		x = layers.Apply(&layers.Conv2DTranspose{Filters: filters << level, KernelSize: []int{3}, Strides: []int{2}, Padding: "same", Activation: activation}, x)
	}
	return alone(input), layers.Apply(&layers.Conv2DTranspose{Filters: 1, KernelSize: []int{3}, Padding: "same", Activation: "sigmoid"}, x)
}

// generator makes images of noise.
func (c composer) generator() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input, filters := keras.Input(keras.Shape(pick(c.drawer, 64, 100, 128))), pick(c.drawer, 16, 32, 64)
	x := layers.Apply(&layers.Reshape{TargetShape: []int{4, 4, 4 * filters}}, layers.Apply(&layers.Dense{Units: 4 * 4 * 4 * filters}, input))
	for level := 2; level >= 0; level-- {
		x = layers.Apply(&layers.Conv2DTranspose{Filters: filters << level, KernelSize: []int{c.between(3, 5)}, Strides: []int{2}, Padding: "same", NoBias: true}, x)
		x = layers.Apply(&layers.LeakyReLU{}, layers.Apply(&layers.BatchNormalization{}, x))
	}
	return alone(input), layers.Apply(&layers.Conv2D{Filters: 3, KernelSize: []int{5}, Padding: "same", Activation: "tanh"}, x)
}

// mixer multiplies the patches of an image along both axes in turn.
func (c composer) mixer() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, patch, width := pick(c.drawer, 32, 64), pick(c.drawer, 4, 8), pick(c.drawer, 64, 96, 128)
	input, patches := keras.Input(keras.Shape(size, size, 3)), size/patch*(size/patch)
	x := layers.Apply(&layers.Conv2D{Filters: width, KernelSize: []int{patch}, Strides: []int{patch}}, input)
	x = layers.Apply(&layers.Reshape{TargetShape: []int{patches, width}}, x)
	wide := func(y *layers.KerasTensor, hidden, units int) *layers.KerasTensor {
		return layers.Apply(&layers.Dense{Units: units}, layers.Apply(&layers.Dense{Units: hidden, Activation: "gelu"}, y))
	}
	for range c.between(2, 4) {
		y := layers.Apply(&layers.Permute{Dims: []int{2, 1}}, layers.Apply(&layers.LayerNormalization{}, x))
		x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Permute{Dims: []int{2, 1}}, wide(y, 2*patches, patches)))
		x = layers.Apply(&layers.Add{}, x, wide(layers.Apply(&layers.LayerNormalization{}, x), 4*width, width))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 10}, layers.Apply(&layers.GlobalAveragePooling1D{}, x))
}

// depthwise has blocks of depthwise convolutions, with gates of channels in some.
func (c composer) depthwise() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input, filters, kernel := keras.Input(keras.Shape(48, 48, 3)), 8*c.between(2, 12), pick(c.drawer, 3, 5, 7, 9)
	activation, x := pick(c.drawer, "gelu", "silu", "relu6"), c.convolved(input, filters, 3, 2, "silu")
	gated := c.IntN(2) == 0
	for range c.between(2, 4) {
		y := layers.Apply(&layers.DepthwiseConv2D{KernelSize: []int{kernel}, Padding: "same"}, x)
		y = layers.Apply(&layers.Activation{Activation: activation}, layers.Apply(&layers.BatchNormalization{}, y))
		if gated {
			gate := layers.Apply(&layers.GlobalAveragePooling2D{KeepDims: true}, y)
			gate = layers.Apply(&layers.Conv2D{Filters: filters / 4, KernelSize: []int{1}, Activation: activation}, gate)
			y = layers.Apply(&layers.Multiply{}, y, layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{1}, Activation: "sigmoid"}, gate))
		}
		x = layers.Apply(&layers.Add{}, x, c.convolved(y, filters, 1, 1, activation))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 100}, layers.Apply(&layers.GlobalAveragePooling2D{}, x))
}

// branches joins convolutions of several windows.
func (c composer) branches() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size := pick(c.drawer, 16, 24, 32)
	input := keras.Input(keras.Shape(size, size, 3))
	x := c.convolved(input, 32, 3, 1, "relu")
	for range c.between(2, 3) {
		w := 8 * c.between(1, 4)
		one := func(filters int, x *layers.KerasTensor) *layers.KerasTensor {
			return c.convolved(x, filters, 1, 1, "relu")
		}
		pooled := layers.Apply(&layers.MaxPooling2D{PoolSize: []int{3}, Strides: []int{1}, Padding: "same"}, x)
		x = layers.Apply(&layers.Concatenate{}, one(w, x), c.convolved(one(w, x), 2*w, 3, 1, "relu"), c.convolved(one(w/2, x), w, 5, 1, "relu"), one(w, pooled))
		if c.IntN(2) == 0 {
			x = layers.Apply(&layers.AveragePooling2D{PoolSize: []int{3}, Strides: []int{2}, Padding: "same"}, x)
		}
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 10, Activation: "softmax"}, layers.Apply(&layers.Flatten{}, x))
}

// dense appends what each convolution makes to what it read.
func (c composer) dense() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input, growth := keras.Input(keras.Shape(32, 32, 3)), pick(c.drawer, 12, 16, 24)
	x := layers.Apply(&layers.Conv2D{Filters: 2 * growth, KernelSize: []int{3}, Padding: "same"}, input)
	before := func(x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.Activation{Activation: "relu"}, layers.Apply(&layers.BatchNormalization{}, x))
	}
	for range 2 {
		for range c.between(3, 5) {
			y := layers.Apply(&layers.Conv2D{Filters: 4 * growth, KernelSize: []int{1}, NoBias: true}, before(x))
			y = layers.Apply(&layers.Conv2D{Filters: growth, KernelSize: []int{3}, Padding: "same", NoBias: true}, before(y))
			x = layers.Apply(&layers.Concatenate{}, x, y)
		}
		x = layers.Apply(&layers.AveragePooling2D{PoolSize: []int{2}}, layers.Apply(&layers.Conv2D{Filters: 2 * growth, KernelSize: []int{1}}, before(x)))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 10}, layers.Apply(&layers.GlobalAveragePooling2D{}, x))
}
