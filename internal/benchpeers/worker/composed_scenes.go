package main

import (
	"math"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// rays adds up colours along rays, whose points are encoded by waves.
func (c composer) rays() ([]*layers.KerasTensor, *layers.KerasTensor) {
	rays, points, width := pick(c.drawer, 32, 100), pick(c.drawer, 16, 32), pick(c.drawer, 32, 64, 128)
	input := keras.Input(keras.Shape(rays, points, 3))
	x := input.Reshape(-1, rays*points, 3)
	parts := []*layers.KerasTensor{x}
	for k := range c.between(4, 12) {
		angle := x.Multiply(math.Pow(2, float64(k)/2))
		parts = append(parts, layers.Op("sin", angle), layers.Op("cos", angle))
	}
	encoded := layers.Op("concatenate", parts, -1)
	x = encoded
	for level := range c.between(3, 6) {
		if x = layers.Apply(&layers.Dense{Units: width, Activation: "relu"}, x); level == 2 {
			x = layers.Op("concatenate", []*layers.KerasTensor{x, encoded}, -1)
		}
	}
	x = layers.Apply(&layers.Dense{Units: 4}, x).Reshape(-1, rays, points, 4)
	colour, density := layers.Op("sigmoid", x.At(layers.Ellipsis, layers.Range(0, 3))), layers.Op("relu", x.At(layers.Ellipsis, 3))
	through := layers.Op("exp", density.Multiply(-4/float64(points)))
	left := layers.Op("cumprod", through.Add(1e-10), -1).At(layers.Ellipsis, layers.Range(0, points-1))
	left = layers.Op("pad", left, [][]int{{0, 0}, {0, 0}, {1, 0}}, "constant", 1)
	weights := left.Subtract(left.Multiply(through))
	return alone(input), layers.Op("sum", layers.Op("expand_dims", weights, -1).Multiply(colour), layers.Keywords{"axis": -2})
}

// patches attends from the patches of an image to a few tokens or to learned memories, and weighs them for the answer.
func (c composer) patches() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, patch, heads := pick(c.drawer, 32, 48), pick(c.drawer, 2, 4), pick(c.drawer, 2, 4)
	n, width, external := size/patch*(size/patch), heads*8*c.between(2, 4), c.IntN(2) == 0
	input := keras.Input(keras.Shape(size, size, 3))
	x := layers.Apply(&layers.Dense{Units: width}, layers.Op("extract_patches", input, patch).Reshape(-1, n, patch*patch*3))
	for range c.between(1, 3) {
		y := layers.Apply(&layers.LayerNormalization{}, x)
		if external {
			y = y.Reshape(-1, n, heads, width/heads).Transpose(0, 2, 1, 3)
			y = layers.Op("softmax", layers.Apply(&layers.Dense{Units: 32}, y), 2)
			y = y.Divide(layers.Op("sum", y, layers.Keywords{"axis": -1, "keepdims": true}).Add(1e-9))
			y = layers.Apply(&layers.Dense{Units: width / heads}, y).Transpose(0, 2, 1, 3).Reshape(-1, n, width)
		} else {
			few := layers.Apply(&layers.AveragePooling1D{PoolSize: []int{4}}, y)
			y = layers.Apply(&layers.MultiHeadAttention{NumHeads: heads, KeyDim: width / heads}, y, few)
		}
		x = x.Add(layers.Apply(&layers.Dropout{Rate: 0.1}, layers.Apply(&layers.Dense{Units: width}, y)))
		y = layers.Apply(&layers.Dense{Units: 2 * width, Activation: "gelu"}, layers.Apply(&layers.LayerNormalization{}, x))
		x = x.Add(layers.Apply(&layers.Dense{Units: width}, y))
	}
	weights := layers.Op("softmax", layers.Apply(&layers.Dense{Units: 1}, x), 1)
	return alone(input), layers.Apply(&layers.Dense{Units: 10}, layers.Op("squeeze", weights.Transpose(0, 2, 1).Matmul(x), 1))
}

// similarity compares an image with what a network makes of it: means, variances and their product in sliding windows,
// and differences of neighbouring pixels.
func (c composer) similarity() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, window, channels := pick(c.drawer, 32, 48, 96), pick(c.drawer, 3, 5, 7, 11), pick(c.drawer, 1, 3)
	x := keras.Input(keras.Shape(size, size, channels))
	y := conv(conv(x, 16, 3, 1, c.activation()), channels, 3, 1, "sigmoid")
	padding := pick(c.drawer, "valid", "valid", "same")
	mean := func(t *layers.KerasTensor) *layers.KerasTensor {
		return layers.Op("average_pool", t, window, 1, padding)
	}
	a, b := mean(x), mean(y)
	va, vb, both := mean(x.Multiply(x)).Subtract(a.Multiply(a)), mean(y.Multiply(y)).Subtract(b.Multiply(b)), mean(x.Multiply(y)).Subtract(a.Multiply(b))
	above := a.Multiply(b).Multiply(2).Add(1e-4).Multiply(both.Multiply(2).Add(9e-4))
	below := a.Multiply(a).Add(b.Multiply(b)).Add(1e-4).Multiply(layers.Op("relu", va).Add(layers.Op("relu", vb)).Add(9e-4))
	image := layers.Keywords{"axis": []int{1, 2, 3}}
	loss := layers.Op("mean", above.Divide(below), image)
	all := layers.Slice{}
	for _, at := range [][2]any{{all, layers.Range(1, size)}, {layers.Range(1, size), all}} {
		before := []any{all, all, all}
		for i, s := range at {
			if s != any(all) {
				before[1+i] = layers.Range(0, size-1)
			}
		}
		difference := y.At(all, at[0], at[1]).Subtract(y.At(before...))
		loss = loss.Add(layers.Op("mean", difference.Abs(), image))
	}
	return alone(x), layers.Op("expand_dims", loss, 1)
}

// towers compares two images by one encoder, each with all others of the batch.
func (c composer) towers() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, width := pick(c.drawer, 32, 48), pick(c.drawer, 32, 64, 128)
	inputs := []*layers.KerasTensor{keras.Input(keras.Shape(size, size, 3)), keras.Input(keras.Shape(size, size, 3))}
	var encoder []layers.Layer
	for range 3 {
		encoder = append(encoder, &layers.Conv2D{Filters: width, KernelSize: []int{3}, Strides: []int{2}, Activation: "relu"})
	}
	encoder = append(encoder, &layers.Flatten{}, &layers.Dense{Units: width, Activation: "relu"}, &layers.Dense{Units: width})
	var points []*layers.KerasTensor
	for _, x := range inputs {
		for _, l := range encoder {
			x = layers.Apply(l, x)
		}
		points = append(points, layers.Op("normalize", x))
	}
	return inputs, layers.Op("log_softmax", points[0].Matmul(points[1].Transpose(1, 0)).Multiply(10))
}

// atrous sees the surroundings of each pixel at several distances, and the whole image.
func (c composer) atrous() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, filters := pick(c.drawer, 32, 48, 64), pick(c.drawer, 16, 32, 48)
	input := keras.Input(keras.Shape(size, size, 3))
	low := c.convolved(input, filters, 3, 2, "relu")
	x := low
	for range 2 {
		y := layers.Apply(&layers.SeparableConv2D{Filters: 2 * filters, KernelSize: []int{3}, Padding: "same"}, layers.Apply(&layers.Activation{Activation: "relu"}, x))
		y = layers.Apply(&layers.MaxPooling2D{PoolSize: []int{3}, Strides: []int{2}, Padding: "same"}, layers.Apply(&layers.BatchNormalization{}, y))
		x = layers.Apply(&layers.Add{}, y, conv(x, 2*filters, 1, 2, "linear"))
	}
	whole := conv(layers.Apply(&layers.GlobalAveragePooling2D{KeepDims: true}, x), filters, 1, 1, "relu")
	parts := []*layers.KerasTensor{layers.Apply(&layers.UpSampling2D{Size: []int{size / 8, size / 8}, Interpolation: "bilinear"}, whole), c.convolved(x, filters, 1, 1, "relu")}
	for _, rate := range []int{2, 4, 6}[:c.between(2, 3)] {
		y := layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{3}, DilationRate: []int{rate}, Padding: "same", NoBias: true}, x)
		parts = append(parts, layers.Op("relu", layers.Apply(&layers.BatchNormalization{}, y)))
	}
	x = c.convolved(layers.Apply(&layers.Concatenate{}, parts...), filters, 1, 1, "relu")
	x = layers.Apply(&layers.UpSampling2D{Size: []int{4, 4}, Interpolation: "bilinear"}, x)
	x = c.convolved(layers.Apply(&layers.Concatenate{}, x, conv(low, 8, 1, 1, "relu")), filters, 3, 1, "relu")
	return alone(input), layers.Apply(&layers.Conv2D{Filters: 20, KernelSize: []int{1}}, layers.Op("resize", x, layers.Keywords{"size": []int{size, size}}))
}
