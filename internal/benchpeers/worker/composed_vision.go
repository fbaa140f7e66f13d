package main

import (
	"math"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// conv applies a convolution of images that keeps their size, except for the stride.
func conv(x *layers.KerasTensor, filters, kernel, stride int, activation string) *layers.KerasTensor {
	return layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", Activation: activation}, x)
}

// windowed attends within windows of an image, which are shifted in every other block.
func (c composer) windowed() ([]*layers.KerasTensor, *layers.KerasTensor) {
	window, heads := pick(c.drawer, 2, 4, 7), pick(c.drawer, 2, 4)
	across, width := c.between(2, 4), heads*8*c.between(2, 4)
	size, n := across*window, window*window
	input := keras.Input(keras.Shape(4*size, 4*size, 3))
	x := conv(input, width, 4, 4, "linear")
	for block := range c.between(2, 3) {
		y := layers.Apply(&layers.LayerNormalization{}, x)
		shift := block % 2 * (window / 2)
		if shift > 0 {
			y = layers.Op("roll", y, []int{-shift, -shift}, []int{1, 2})
		}
		y = y.Reshape(-1, across, window, across, window, width).Transpose(0, 1, 3, 2, 4, 5).Reshape(-1, n, width)
		all := layers.Apply(&layers.Dense{Units: 3 * width}, y).Reshape(-1, n, 3, heads, width/heads).Transpose(2, 0, 3, 1, 4)
		scores := all.At(0).Multiply(1 / math.Sqrt(float64(width/heads))).Matmul(all.At(1).Transpose(0, 1, 3, 2))
		y = layers.Op("softmax", scores).Matmul(all.At(2)).Transpose(0, 2, 1, 3).Reshape(-1, n, width)
		y = layers.Apply(&layers.Dense{Units: width}, y).Reshape(-1, across, across, window, window, width)
		y = y.Transpose(0, 1, 3, 2, 4, 5).Reshape(-1, size, size, width)
		if shift > 0 {
			y = layers.Op("roll", y, []int{shift, shift}, []int{1, 2})
		}
		x = x.Add(layers.Apply(&layers.Dropout{Rate: 0.1}, y))
		y = layers.Apply(&layers.Dense{Units: 4 * width, Activation: "gelu"}, layers.Apply(&layers.LayerNormalization{}, x))
		x = x.Add(layers.Apply(&layers.Dense{Units: width}, y))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 10}, layers.Apply(&layers.GlobalAveragePooling2D{}, x))
}

// diffusion predicts the noise of images from them and the amount of noise, whose waves are repeated over all pixels.
func (c composer) diffusion() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, width, depth := pick(c.drawer, 16, 32), 8*c.between(2, 5), c.between(1, 2)
	images, noise := keras.Input(keras.Shape(size, size, 3)), keras.Input(keras.Shape(1, 1, 1))
	var waves []*layers.KerasTensor
	for k := range 8 {
		angle := noise.Multiply(2 * math.Pi * math.Pow(2.7, float64(k)))
		waves = append(waves, layers.Op("sin", angle), layers.Op("cos", angle))
	}
	e := layers.Apply(&layers.UpSampling2D{Size: []int{size, size}}, layers.Op("concatenate", waves, -1))
	residual := func(x *layers.KerasTensor, width int) *layers.KerasTensor {
		y := layers.Apply(&layers.BatchNormalization{NoCenter: true, NoScale: true}, x)
		if shape := x.Shape(); len(shape) == 4 && shape[3] != width {
			x = conv(x, width, 1, 1, "linear")
		}
		return layers.Apply(&layers.Add{}, x, conv(conv(y, width, 3, 1, "swish"), width, 3, 1, "linear"))
	}
	x := layers.Apply(&layers.Concatenate{}, conv(images, width, 1, 1, "linear"), e)
	var skips []*layers.KerasTensor
	for level := range 2 {
		for range depth {
			x = residual(x, width<<level)
			skips = append(skips, x)
		}
		x = layers.Apply(&layers.AveragePooling2D{PoolSize: []int{2}}, x)
	}
	x = residual(x, 4*width)
	for level := 1; level >= 0; level-- {
		x = layers.Apply(&layers.UpSampling2D{Interpolation: "bilinear"}, x)
		for range depth {
			x = residual(layers.Apply(&layers.Concatenate{}, x, skips[len(skips)-1]), width<<level)
			skips = skips[:len(skips)-1]
		}
	}
	return []*layers.KerasTensor{images, noise}, conv(x, 3, 1, 1, "linear")
}

// upscaler makes images larger: channels become pixels.
func (c composer) upscaler() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, filters, channels := pick(c.drawer, 16, 24, 40), pick(c.drawer, 16, 32, 64), pick(c.drawer, 1, 3)
	input := keras.Input(keras.Shape(size, size, channels))
	parametric := c.IntN(2) == 0
	activated := func(x *layers.KerasTensor) *layers.KerasTensor {
		if parametric {
			return layers.Apply(&layers.PReLU{SharedAxes: []int{1, 2}}, x)
		}
		return layers.Apply(&layers.Activation{Activation: "relu"}, x)
	}
	x := activated(conv(input, filters, c.between(3, 9), 1, "linear"))
	for range c.between(1, 3) {
		y := conv(activated(conv(x, filters, 3, 1, "linear")), filters, 3, 1, "linear")
		x = layers.Apply(&layers.Add{}, x, c.normalized(y, 0.5))
	}
	for range c.between(1, 2) {
		r := c.between(2, 3)
		x = conv(x, r*r*filters/2, 3, 1, "linear").Reshape(-1, size, size, r, r, filters/2).Transpose(0, 1, 3, 2, 4, 5)
		size *= r
		x, filters = activated(x.Reshape(-1, size, size, filters/2)), filters/2
	}
	return alone(input), conv(x, channels, 3, 1, "tanh")
}

// detector finds objects on several scales with one head for all of them.
func (c composer) detector() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, filters, activation := pick(c.drawer, 64, 96), 8*c.between(2, 4), pick(c.drawer, "relu", "silu")
	input := keras.Input(keras.Shape(size, size, 3))
	x := c.convolved(c.convolved(input, filters, 3, 2, activation), 2*filters, 3, 2, activation)
	var scales []*layers.KerasTensor
	for level := range 3 {
		half := filters << level
		x = c.convolved(x, 2*half, 3, 1+level%2, activation)
		first, second := x.At(layers.Ellipsis, layers.Range(0, half)), x.At(layers.Ellipsis, layers.Range(half, 2*half))
		parts := []*layers.KerasTensor{first, second}
		for range c.between(1, 2) {
			second = second.Add(c.convolved(c.convolved(second, half, 3, 1, activation), half, 3, 1, activation))
			parts = append(parts, second)
		}
		x = c.convolved(layers.Op("concatenate", parts, -1), 2*half, 1, 1, activation)
		scales = append(scales, conv(x, 4*filters, 1, 1, "linear"))
	}
	pooled := []*layers.KerasTensor{scales[2]}
	for k := range 3 {
		pooled = append(pooled, layers.Apply(&layers.MaxPooling2D{PoolSize: []int{5}, Strides: []int{1}, Padding: "same"}, pooled[k]))
	}
	scales[2] = c.convolved(layers.Apply(&layers.Concatenate{}, pooled...), 4*filters, 1, 1, activation)
	hidden, last := &layers.Conv2D{Filters: 4 * filters, KernelSize: []int{3}, Padding: "same", Activation: activation}, &layers.Conv2D{Filters: 6 * 9, KernelSize: []int{3}, Padding: "same"}
	var found []*layers.KerasTensor
	for level := 2; level >= 0; level-- {
		x := scales[level]
		if level < 2 && x.Shape()[1] > scales[level+1].Shape()[1] {
			x = x.Add(layers.Apply(&layers.UpSampling2D{}, scales[level+1]))
		}
		y := layers.Apply(last, layers.Apply(hidden, x))
		found = append(found, y.Reshape(-1, y.Shape()[1]*y.Shape()[2]*9, 6))
	}
	return alone(input), layers.Op("concatenate", found, 1)
}

// translator turns images into others of a style: reflected edges, and statistics of each image alone.
func (c composer) translator() ([]*layers.KerasTensor, *layers.KerasTensor) {
	size, filters, activation := pick(c.drawer, 32, 48), 8*c.between(2, 5), pick(c.drawer, "relu", "leaky_relu")
	byHand := c.IntN(2) == 0
	padded := func(x *layers.KerasTensor, n int) *layers.KerasTensor {
		return layers.Op("pad", x, [][]int{{0, 0}, {n, n}, {n, n}, {0, 0}}, "reflect")
	}
	normalized := func(x *layers.KerasTensor) *layers.KerasTensor {
		if !byHand {
			return layers.Apply(&layers.GroupNormalization{Groups: -1}, x)
		}
		over := layers.Keywords{"axis": []int{1, 2}, "keepdims": true}
		return x.Subtract(layers.Op("mean", x, over)).Divide(layers.Op("std", x, over).Add(1e-5))
	}
	next := func(x *layers.KerasTensor, l layers.Layer) *layers.KerasTensor {
		return layers.Apply(&layers.Activation{Activation: activation}, normalized(layers.Apply(l, x)))
	}
	input := keras.Input(keras.Shape(size, size, 3))
	x := next(padded(input, 3), &layers.Conv2D{Filters: filters, KernelSize: []int{7}, NoBias: true})
	for level := 1; level <= 2; level++ {
		x = next(x, &layers.Conv2D{Filters: filters << level, KernelSize: []int{3}, Strides: []int{2}, Padding: "same", NoBias: true})
	}
	for range c.between(1, 3) {
		y := next(padded(x, 1), &layers.Conv2D{Filters: 4 * filters, KernelSize: []int{3}, NoBias: true})
		x = x.Add(normalized(layers.Apply(&layers.Conv2D{Filters: 4 * filters, KernelSize: []int{3}, NoBias: true}, padded(y, 1))))
	}
	for level := 1; level >= 0; level-- {
		x = next(x, &layers.Conv2DTranspose{Filters: filters << level, KernelSize: []int{3}, Strides: []int{2}, Padding: "same", NoBias: true})
	}
	return alone(input), layers.Apply(&layers.Conv2D{Filters: 3, KernelSize: []int{7}, Activation: "tanh"}, padded(x, 3))
}
