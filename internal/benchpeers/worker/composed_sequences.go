package main

import (
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// volume classifies volumes.
func (c composer) volume() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size := pick(c.drawer, 12, 16, 24)
	input, filters := keras.Input(keras.Shape(size, size, size, pick(c.drawer, 1, 2))), pick(c.drawer, 8, 16, 32)
	x := input
	for level := range c.between(2, 3) {
		x = layers.Apply(&layers.Conv3D{Filters: filters << min(level, 1), KernelSize: []int{3}, Padding: "same", Activation: c.activation()}, x)
		x = c.normalized(layers.Apply(&layers.MaxPooling3D{Padding: "same"}, x), 0.7)
	}
	x = layers.Apply(&layers.Dense{Units: 64, Activation: "relu"}, layers.Apply(&layers.GlobalAveragePooling3D{}, x))
	return alone(input), layers.Apply(&layers.Dense{Units: 1, Activation: "sigmoid"}, layers.Apply(&layers.Dropout{Rate: 0.3}, x))
}

// video reads images of one scene after the other, by recurrent convolutions or by one convolutional network for all.
func (c composer) video() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size := pick(c.drawer, 12, 16, 24)
	input, filters := keras.Input(keras.Shape(c.between(3, 8), size, size, pick(c.drawer, 1, 3))), pick(c.drawer, 8, 16, 32)
	x := input
	if c.IntN(2) == 0 {
		for _, kernel := range []int{pick(c.drawer, 3, 5), pick(c.drawer, 1, 3)} {
			x = layers.Apply(&layers.ConvLSTM2D{Filters: filters, KernelSize: []int{kernel}, Padding: "same", ReturnSequences: true, Activation: pick(c.drawer, "tanh", "relu")}, x)
			x = c.normalized(x, 0.5)
		}
		return alone(input), layers.Apply(&layers.Conv3D{Filters: 1, KernelSize: []int{3}, Padding: "same", Activation: "sigmoid"}, x)
	}
	for level := range 2 {
		x = layers.Apply(&layers.TimeDistributed{Layer: &layers.Conv2D{Filters: filters << level, KernelSize: []int{3}, Activation: "relu"}}, x)
		x = layers.Apply(&layers.TimeDistributed{Layer: &layers.MaxPooling2D{}}, x)
	}
	x = layers.Apply(&layers.TimeDistributed{Layer: &layers.Flatten{}}, x)
	return alone(input), layers.Apply(&layers.Dense{Units: 5}, layers.Apply(&layers.GRU{Units: pick(c.drawer, 8, 16, 64)}, x))
}

// recommender multiplies features by themselves, beside a deep network.
func (c composer) recommender() (inputs []*layers.KerasTensor, y *layers.KerasTensor) {
	var features []*layers.KerasTensor
	for range c.between(3, 8) {
		input := keras.Input(keras.Shape(1), keras.DType("int32"))
		inputs = append(inputs, input)
		row := layers.Apply(&layers.Embedding{InputDim: pick(c.drawer, 100, 5000, 50000), OutputDim: pick(c.drawer, 8, 16, 32)}, input)
		features = append(features, layers.Apply(&layers.Flatten{}, row))
	}
	numbers := keras.Input(keras.Shape(c.between(4, 20)))
	inputs, features = append(inputs, numbers), append(features, numbers)
	all := layers.Apply(&layers.Concatenate{}, features...)
	width := all.Shape()[1]
	cross, deep := all, all
	for range c.between(1, 3) {
		cross = layers.Apply(&layers.Add{}, layers.Apply(&layers.Multiply{}, all, layers.Apply(&layers.Dense{Units: width}, cross)), cross)
	}
	for _, units := range []int{256, 128, 64} {
		deep = c.normalized(layers.Apply(&layers.Dense{Units: units, Activation: "relu"}, deep), 0.5)
	}
	return inputs, layers.Apply(&layers.Dense{Units: 1, Activation: "sigmoid"}, layers.Apply(&layers.Concatenate{}, cross, deep))
}

// translation attends from one recurrent network to another one.
func (c composer) translation() ([]*layers.KerasTensor, *layers.KerasTensor) {
	words, width := pick(c.drawer, 70, 1000, 4000), pick(c.drawer, 64, 128, 200)
	from, to := keras.Input(keras.Shape(c.between(8, 24)), keras.DType("int32")), keras.Input(keras.Shape(c.between(8, 32)), keras.DType("int32"))
	recurrent := func() layers.Layer {
		if width%3 == 2 {
			return &layers.GRU{Units: width, ReturnSequences: true}
		}
		return &layers.LSTM{Units: width, ReturnSequences: true}
	}
	embedded := func(x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.Embedding{InputDim: words, OutputDim: width, MaskZero: true}, x)
	}
	read := layers.Apply(&layers.Bidirectional{Layer: recurrent(), MergeMode: "sum"}, embedded(from))
	written := layers.Apply(recurrent(), embedded(to))
	x := layers.Apply(&layers.Concatenate{}, written, layers.Apply(&layers.Attention{}, written, read))
	return []*layers.KerasTensor{from, to}, layers.Apply(&layers.Dense{Units: words}, layers.Apply(&layers.Dropout{Rate: 0.2}, x))
}

// dilated has gated convolutions of sequences whose windows double their distances.
func (c composer) dilated() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input, filters := keras.Input(keras.Shape(pick(c.drawer, 128, 300, 512), pick(c.drawer, 1, 4))), pick(c.drawer, 16, 32, 64)
	convolved := func(x *layers.KerasTensor, dilation int, activation string) *layers.KerasTensor {
		return layers.Apply(&layers.Conv1D{Filters: filters, KernelSize: []int{2}, Padding: "causal", DilationRate: []int{dilation}, Activation: activation}, x)
	}
	x := convolved(input, 1, "linear")
	var outputs []*layers.KerasTensor
	for level := range c.between(4, 7) {
		z := layers.Apply(&layers.Multiply{}, convolved(x, 1<<level, "tanh"), convolved(x, 1<<level, "sigmoid"))
		z = layers.Apply(&layers.Conv1D{Filters: filters, KernelSize: []int{1}}, z)
		outputs, x = append(outputs, z), layers.Apply(&layers.Add{}, x, z)
	}
	y := layers.Apply(&layers.Activation{Activation: "relu"}, layers.Apply(&layers.Add{}, outputs...))
	return alone(input), layers.Apply(&layers.Conv1D{Filters: pick(c.drawer, 1, 64), KernelSize: []int{1}}, y)
}

// points classifies sets of points.
func (c composer) points() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input := keras.Input(keras.Shape(pick(c.drawer, 128, 256, 512), 3))
	x := input
	for _, filters := range []int{32, 64, pick(c.drawer, 128, 256, 512)} {
		x = layers.Apply(&layers.BatchNormalization{}, layers.Apply(&layers.Conv1D{Filters: filters, KernelSize: []int{1}}, x))
		x = layers.Apply(&layers.Activation{Activation: "relu"}, x)
	}
	x = layers.Apply(&layers.GlobalMaxPooling1D{}, x)
	for _, units := range []int{256, 128} {
		x = layers.Apply(&layers.Dropout{Rate: 0.3}, layers.Apply(&layers.Dense{Units: units, Activation: "relu"}, x))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 10, Activation: "softmax"}, x)
}

// decoder predicts words from those before them.
func (c composer) decoder() ([]*layers.KerasTensor, *layers.KerasTensor) {
	words, width := pick(c.drawer, 1000, 4000), pick(c.drawer, 64, 128, 256)
	input := keras.Input(keras.Shape(pick(c.drawer, 32, 64, 128)), keras.DType("int32"))
	x := layers.Apply(&layers.Embedding{InputDim: words, OutputDim: width}, input)
	grouped := c.IntN(2) == 0
	for range c.between(1, 3) {
		y := layers.Apply(&layers.LayerNormalization{}, x)
		if grouped {
			y = layers.Apply(&layers.GroupQueryAttention{HeadDim: width / 4, NumQueryHeads: 4, NumKeyValueHeads: 2, UseCausalMask: true}, y, y)
		} else {
			y = layers.Apply(&layers.MultiHeadAttention{NumHeads: 4, KeyDim: width / 4, UseCausalMask: true}, y, y)
		}
		x = layers.Apply(&layers.Add{}, x, y)
		y = layers.Apply(&layers.RMSNormalization{}, x)
		gate := layers.Apply(&layers.Dense{Units: 2 * width, Activation: c.activation()}, y)
		y = layers.Apply(&layers.Multiply{}, gate, layers.Apply(&layers.Dense{Units: 2 * width}, y))
		x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: width}, y))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: words}, x)
}

// texts joins convolutions of words with several windows.
func (c composer) texts() ([]*layers.KerasTensor, *layers.KerasTensor) {
	input := keras.Input(keras.Shape(c.between(50, 300)), keras.DType("int32"))
	x := layers.Apply(&layers.Embedding{InputDim: pick(c.drawer, 2000, 20000), OutputDim: pick(c.drawer, 50, 100, 128)}, input)
	x = layers.Apply(&layers.Dropout{Rate: 0.5}, x)
	filters, stride := pick(c.drawer, 64, 100, 128), pick(c.drawer, 1, 1, 3)
	var parts []*layers.KerasTensor
	for _, kernel := range []int{3, 5, 7}[:c.between(2, 3)] {
		y := layers.Apply(&layers.Conv1D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Activation: "relu"}, x)
		parts = append(parts, layers.Apply(&layers.GlobalMaxPooling1D{}, y))
	}
	x = layers.Apply(&layers.Dense{Units: 128, Activation: "relu"}, layers.Apply(&layers.Concatenate{}, parts...))
	return alone(input), layers.Apply(&layers.Dense{Units: 1, Activation: "sigmoid"}, x)
}
