package main

import (
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// oneLayer draws a network of one layer, of any kind that reads floats and of some size, after which nothing comes.
func (d drawer) oneLayer() (inputs []*layers.KerasTensor, y *layers.KerasTensor) {
	one := func(shape []int, layer layers.Layer) {
		x := keras.Input(keras.Shape(shape...))
		inputs, y = []*layers.KerasTensor{x}, layers.Apply(layer, x)
	}
	width := func(high int) int { return pick(d, 1, 4, 8, 16)*d.between(1, high/16) + d.IntN(2) }
	rows := func() []int { return []int{width(1024)} }
	steps := func() []int { return []int{d.between(2, 128), width(256)} }
	size := d.between(4, 40)
	image := func() []int { return []int{size, size, pick(d, 1, 3, 4, 8, 16, 24, 64, width(128))} }
	kernel, stride, activation := pick(d, 1, 2, 3, 3, 5, 7), pick(d, 1, 1, 2), d.activation()
	pick(d,
		func() { one(rows(), &layers.Dense{Units: width(1024), Activation: activation}) },
		func() { one(steps(), &layers.Dense{Units: width(256), Activation: activation}) },
		func() {
			one(steps(), &layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{layers.Unknown, width(256)}})
		},
		func() {
			one(steps(), &layers.Conv1D{Filters: width(128), KernelSize: []int{kernel}, Padding: "same"})
		},
		func() {
			one(image(), &layers.Conv2D{Filters: width(64), KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", Activation: activation})
		},
		func() {
			one([]int{6, 8, 8, width(32)}, &layers.Conv3D{Filters: width(32), KernelSize: []int{3}, Padding: "same"})
		},
		func() {
			one(image(), &layers.Conv2DTranspose{Filters: width(32), KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same"})
		},
		func() {
			one(image(), &layers.DepthwiseConv2D{KernelSize: []int{3}, Strides: []int{stride}, Padding: "same"})
		},
		func() {
			one(image(), &layers.SeparableConv2D{Filters: width(64), KernelSize: []int{3}, Padding: "same"})
		},
		func() { one(steps(), &layers.LSTM{Units: width(128), ReturnSequences: d.IntN(2) == 0}) },
		func() { one(steps(), &layers.GRU{Units: width(128), ReturnSequences: d.IntN(2) == 0}) },
		func() {
			one([]int{4, 8, 8, width(16)}, &layers.ConvLSTM2D{Filters: width(16), KernelSize: []int{3}, Padding: "same"})
		},
		func() { one(image(), &layers.BatchNormalization{}) },
		func() { one(steps(), &layers.LayerNormalization{}) },
		func() { one(steps(), &layers.RMSNormalization{}) },
		func() { one([]int{size, size, 8 * d.between(1, 16)}, &layers.GroupNormalization{Groups: 8}) },
		func() { one(image(), &layers.MaxPooling2D{PoolSize: []int{2}}) },
		func() {
			one(image(), &layers.AveragePooling2D{PoolSize: []int{3}, Strides: []int{1}, Padding: "same"})
		},
		func() { one(image(), &layers.GlobalAveragePooling2D{}) },
		func() { one(image(), &layers.Activation{Activation: activation}) },
		func() { one(steps(), &layers.Softmax{}) },
		func() { one(image(), &layers.PReLU{}) },
		func() { one(image(), &layers.UpSampling2D{Size: []int{2}}) },
		func() { one(image(), &layers.ZeroPadding2D{Padding: [][]int{{2, 2}, {2, 2}}}) },
		func() { one(steps(), &layers.Permute{Dims: []int{2, 1}}) },
		func() { inputs, y = d.attends() },
		func() {
			x := keras.Input(keras.Shape(d.between(4, 128)), keras.DType("int32"))
			inputs, y = []*layers.KerasTensor{x}, layers.Apply(&layers.Embedding{InputDim: d.between(16, 20000), OutputDim: width(128)}, x)
		},
		func() {
			shape := image()
			a, b := keras.Input(keras.Shape(shape...)), keras.Input(keras.Shape(shape...))
			inputs, y = []*layers.KerasTensor{a, b}, layers.Apply(pick[layers.Layer](d, &layers.Add{}, &layers.Multiply{}, &layers.Concatenate{}), a, b)
		},
	)()
	return inputs, y
}

// attends draws attention of queries, one of them or many, to keys.
func (d drawer) attends() (inputs []*layers.KerasTensor, y *layers.KerasTensor) {
	queries, keys, heads, size := pick(d, 1, 1, d.between(2, 128)), d.between(8, 256), pick(d, 1, 2, 4, 8), 4*d.between(1, 16)
	if d.IntN(2) == 0 {
		q, k := keras.Input(keras.Shape(queries, heads*size)), keras.Input(keras.Shape(keys, heads*size))
		inputs = []*layers.KerasTensor{q, k}
		return inputs, layers.Apply(&layers.MultiHeadAttention{NumHeads: heads, KeyDim: size}, q, k)
	}
	q, v, k := keras.Input(keras.Shape(queries, size)), keras.Input(keras.Shape(keys, size)), keras.Input(keras.Shape(keys, size))
	inputs = []*layers.KerasTensor{q, v, k}
	return inputs, layers.Apply(&layers.Attention{}, q, v, k)
}
