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
	image := pick(d, [2]int{56, 64}, [2]int{56, 32}, [2]int{28, 128}, [2]int{28, 64}, [2]int{28, 192}, [2]int{14, 256}, [2]int{14, 128}, [2]int{14, 384}, [2]int{7, 512}, [2]int{7, 256})
	size, channels := image[0], image[1]
	filters := pick(d, channels, channels, channels/2, min(2*channels, 512))
	relu := pick(d, "relu", "relu", "silu", "")
	apply := layers.Apply
	conv := func(x *layers.KerasTensor, filters, kernel, stride int) *layers.KerasTensor {
		return apply(&layers.Conv2D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", Activation: relu}, x)
	}
	var x *layers.KerasTensor
	images := func() { x = keras.Input(keras.Shape(size, size, channels)) }
	rows := func() { x = keras.Input(keras.Shape(d.wide())) }
	steps := func(longest int) {
		x = keras.Input(keras.Shape(pick(d, 32, 64, longest), pick(d, 64, 128, 256, 384, 512)))
	}
	switch kind {
	case 0:
		rows()
		y = apply(&layers.Dense{Units: d.wide(), Activation: relu}, x)
	case 1: // a classifier
		rows()
		y = apply(&layers.Dense{Units: d.wide(), Activation: relu}, x)
		y = apply(&layers.Dense{Units: pick(d, 10, 100, 1000)}, apply(&layers.Dense{Units: d.wide(), Activation: relu}, y))
	case 2:
		steps(256)
		y = apply(&layers.Dense{Units: pick(d, 1, 2, 4) * x.Shape()[2], Activation: relu}, x)
	case 3, 4:
		images()
		y = conv(x, filters, 3, 1)
	case 5:
		images()
		y = conv(x, filters, 1, 1)
	case 6:
		images()
		y = conv(x, filters, pick(d, 1, 3, 3), 2)
	case 7:
		images()
		y = conv(conv(x, channels, 3, 1), channels, 3, 1)
	case 8: // a bottleneck
		images()
		y = apply(&layers.Add{}, x, conv(conv(conv(x, channels/4, 1, 1), channels/4, 3, 1), channels, 1, 1))
	case 9:
		images()
		y = apply(&layers.DepthwiseConv2D{KernelSize: []int{pick(d, 3, 3, 5, 7)}, Strides: []int{pick(d, 1, 1, 2)}, Padding: "same", Activation: relu}, x)
	case 10:
		images()
		y = apply(&layers.SeparableConv2D{Filters: filters, KernelSize: []int{3}, Padding: "same", Activation: relu}, x)
	case 11:
		images()
		y = apply(&layers.Conv2DTranspose{Filters: pick(d, channels/2, filters, 1, 3), KernelSize: []int{pick(d, 2, 3, 4)}, Strides: []int{pick(d, 1, 2, 2)}, Padding: "same"}, x)
	case 12: // the first layer of a network: patches, or a stem
		x = keras.Input(keras.Shape(pick(d, 64, 128, 224), 128, 3))
		patch := pick(d, 2, 4, 7, 8, 16)
		y = apply(&layers.Conv2D{Filters: pick(d, 32, 64, 96, 192), KernelSize: []int{patch}, Strides: []int{pick(d, 2, patch)}, Padding: pick[layers.Padding](d, "same", "valid")}, x)
	case 13:
		steps(100)
		y = apply(pick[layers.Layer](d, &layers.LSTM{Units: pick(d, 64, 128, 256, 512), ReturnSequences: true}, &layers.GRU{Units: pick(d, 64, 128, 256, 512)}), x)
	case 14:
		steps(256)
		heads := x.Shape()[2] / pick(d, 32, 64)
		y = apply(&layers.MultiHeadAttention{NumHeads: heads, KeyDim: x.Shape()[2] / heads}, x, x)
	case 15: // a block of a transformer
		steps(128)
		width := x.Shape()[2]
		norm := func(x *layers.KerasTensor) *layers.KerasTensor { return apply(&layers.LayerNormalization{}, x) }
		y = norm(x)
		y = apply(&layers.Add{}, x, apply(&layers.MultiHeadAttention{NumHeads: width / 32, KeyDim: 32}, y, y))
		z := apply(&layers.Dense{Units: 4 * width, Activation: "gelu"}, norm(y))
		y = apply(&layers.Add{}, y, apply(&layers.Dense{Units: width}, z))
	case 16:
		if d.IntN(2) == 0 {
			images()
			y = apply(&layers.BatchNormalization{}, conv(x, filters, 1, 1))
			return []*layers.KerasTensor{x}, y
		}
		steps(256)
		y = apply(pick[layers.Layer](d, &layers.LayerNormalization{}, &layers.RMSNormalization{}, &layers.GroupNormalization{Groups: 32}), x)
	default:
		x = keras.Input(keras.Shape(pick(d, 32, 128, 256)), keras.DType("int32"))
		y = apply(&layers.Embedding{InputDim: pick(d, 1000, 10000, 30000), OutputDim: pick(d, 64, 128, 256, 512)}, x)
		if d.IntN(2) == 0 {
			y = apply(&layers.Dense{Units: pick(d, 2, 10)}, apply(&layers.GlobalAveragePooling1D{}, y))
		}
	}
	return []*layers.KerasTensor{x}, y
}

// wide draws the width of a layer.
func (d drawer) wide() int { return pick(d, 256, 512, 512, 768, 784, 1024, 1024, 2048, 4096) }
