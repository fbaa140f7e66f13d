package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// usualKind is the kind of single layers and short networks whose sizes are those that people use: channels, widths and
// images of published networks, and powers of two. Numbers of their own draw them, so that those of smallKinds stay
// what they are.
const usualKind = "usual"

// drawUsual draws one of them, with plain gradient descent, momentum or Adam. The same number is the same network
// everywhere; numbers that follow each other take layers of all kinds in turn.
func drawUsual(number uint64) (drawn, error) {
	d := drawer{rand.New(rand.NewPCG(number, 18))}
	inputs, y := d.usual(int(number % usualLayers))
	m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(y), options(distribute.Default(), keras.Seed(number))...)
	return drawn{m, pick(d, "sgd", "mom", "adam"), whatIs(inputs, y)}, err
}

// whatIs describes a network of a layer or a few: the last layer and the shapes of what goes in and comes out.
func whatIs(inputs []*layers.KerasTensor, y *layers.KerasTensor) string {
	node, _ := y.Node()
	what := strings.TrimPrefix(fmt.Sprintf("%T", node.Layer), "*layers.")
	for _, x := range inputs {
		what += fmt.Sprint(" ", x.Shape()[1:])
	}
	return what
}

const usualLayers = 18

// usual draws the layer, or the short network, of a kind below usualLayers.
func (d drawer) usual(kind int) (inputs []*layers.KerasTensor, y *layers.KerasTensor) {
	u := usualLayer{drawer: d}
	image := pick(d, [2]int{56, 64}, [2]int{56, 32}, [2]int{28, 128}, [2]int{28, 64}, [2]int{28, 192}, [2]int{14, 256}, [2]int{14, 128}, [2]int{14, 384}, [2]int{7, 512}, [2]int{7, 256})
	u.size, u.channels = image[0], image[1]
	u.filters = pick(d, u.channels, u.channels, u.channels/2, min(2*u.channels, 512))
	u.activation = pick(d, "relu", "relu", "silu", "")
	var x *layers.KerasTensor
	switch {
	case kind < 3:
		x, y = u.dense(kind)
	case kind < 13:
		x, y = u.image(kind)
	default:
		x, y = u.sequence(kind)
	}
	return []*layers.KerasTensor{x}, y
}

// usualLayer is a layer that is being drawn.
type usualLayer struct {
	drawer
	size, channels, filters int // of an image, and of what a convolution makes of it
	activation              string
}

func (u *usualLayer) dense(kind int) (x, y *layers.KerasTensor) {
	d, apply := u.drawer, layers.Apply
	switch kind {
	case 0:
		x = keras.Input(keras.Shape(d.wide()))
		y = apply(&layers.Dense{Units: d.wide(), Activation: u.activation}, x)
	case 1: // a classifier
		x = keras.Input(keras.Shape(d.wide()))
		y = apply(&layers.Dense{Units: d.wide(), Activation: u.activation}, x)
		y = apply(&layers.Dense{Units: pick(d, 10, 100, 1000)}, apply(&layers.Dense{Units: d.wide(), Activation: u.activation}, y))
	default:
		x = u.steps(256)
		y = apply(&layers.Dense{Units: pick(d, 1, 2, 4) * x.Shape()[2], Activation: u.activation}, x)
	}
	return x, y
}

// steps is the input of vectors in so many steps, or fewer.
func (u *usualLayer) steps(longest int) *layers.KerasTensor {
	return keras.Input(keras.Shape(pick(u.drawer, 32, 64, longest), pick(u.drawer, 64, 128, 256, 384, 512)))
}

func (u *usualLayer) conv(x *layers.KerasTensor, filters, kernel, stride int) *layers.KerasTensor {
	return layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", Activation: u.activation}, x)
}

func (u *usualLayer) image(kind int) (x, y *layers.KerasTensor) {
	d, apply, channels, filters := u.drawer, layers.Apply, u.channels, u.filters
	if kind == 12 { // the first layer of a network: patches, or a stem
		x = keras.Input(keras.Shape(pick(d, 64, 128, 224), 128, 3))
		patch := pick(d, 2, 4, 7, 8, 16)
		return x, apply(&layers.Conv2D{Filters: pick(d, 32, 64, 96, 192), KernelSize: []int{patch}, Strides: []int{pick(d, 2, patch)}, Padding: pick[layers.Padding](d, "same", "valid")}, x)
	}
	x = keras.Input(keras.Shape(u.size, u.size, channels))
	switch kind {
	case 3, 4:
		y = u.conv(x, filters, 3, 1)
	case 5:
		y = u.conv(x, filters, 1, 1)
	case 6:
		y = u.conv(x, filters, pick(d, 1, 3, 3), 2)
	case 7:
		y = u.conv(u.conv(x, channels, 3, 1), channels, 3, 1)
	case 8: // a bottleneck
		y = apply(&layers.Add{}, x, u.conv(u.conv(u.conv(x, channels/4, 1, 1), channels/4, 3, 1), channels, 1, 1))
	case 9:
		y = apply(&layers.DepthwiseConv2D{KernelSize: []int{pick(d, 3, 3, 5, 7)}, Strides: []int{pick(d, 1, 1, 2)}, Padding: "same", Activation: u.activation}, x)
	case 10:
		y = apply(&layers.SeparableConv2D{Filters: filters, KernelSize: []int{3}, Padding: "same", Activation: u.activation}, x)
	default:
		y = apply(&layers.Conv2DTranspose{Filters: pick(d, channels/2, filters, 1, 3), KernelSize: []int{pick(d, 2, 3, 4)}, Strides: []int{pick(d, 1, 2, 2)}, Padding: "same"}, x)
	}
	return x, y
}

func (u *usualLayer) sequence(kind int) (x, y *layers.KerasTensor) {
	d, apply := u.drawer, layers.Apply
	switch kind {
	case 13:
		x = u.steps(100)
		y = apply(pick[layers.Layer](d, &layers.LSTM{Units: pick(d, 64, 128, 256, 512), ReturnSequences: true}, &layers.GRU{Units: pick(d, 64, 128, 256, 512)}), x)
	case 14:
		x = u.steps(256)
		heads := x.Shape()[2] / pick(d, 32, 64)
		y = apply(&layers.MultiHeadAttention{NumHeads: heads, KeyDim: x.Shape()[2] / heads}, x, x)
	case 15: // a block of a transformer
		x = u.steps(128)
		width := x.Shape()[2]
		norm := func(x *layers.KerasTensor) *layers.KerasTensor { return apply(&layers.LayerNormalization{}, x) }
		y = norm(x)
		y = apply(&layers.Add{}, x, apply(&layers.MultiHeadAttention{NumHeads: width / 32, KeyDim: 32}, y, y))
		z := apply(&layers.Dense{Units: 4 * width, Activation: "gelu"}, norm(y))
		y = apply(&layers.Add{}, y, apply(&layers.Dense{Units: width}, z))
	case 16:
		if d.IntN(2) == 0 {
			x = keras.Input(keras.Shape(u.size, u.size, u.channels))
			return x, apply(&layers.BatchNormalization{}, u.conv(x, u.filters, 1, 1))
		}
		x = u.steps(256)
		y = apply(pick[layers.Layer](d, &layers.LayerNormalization{}, &layers.RMSNormalization{}, &layers.GroupNormalization{Groups: 32}), x)
	default:
		x = keras.Input(keras.Shape(pick(d, 32, 128, 256)), keras.DType("int32"))
		y = apply(&layers.Embedding{InputDim: pick(d, 1000, 10000, 30000), OutputDim: pick(d, 64, 128, 256, 512)}, x)
		if d.IntN(2) == 0 {
			y = apply(&layers.Dense{Units: pick(d, 2, 10)}, apply(&layers.GlobalAveragePooling1D{}, y))
		}
	}
	return x, y
}

// wide draws the width of a layer.
func (d drawer) wide() int { return pick(d, 256, 512, 512, 768, 784, 1024, 1024, 2048, 4096) }
