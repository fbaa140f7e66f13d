package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() {
	define("nn", "MaxPool", `max_pool(inputs, *pool_size, *strides=null, *padding="valid", *data_format=null)`, poolBy(maxPool))
	define("nn", "AveragePool", `average_pool(inputs, *pool_size, *strides=null, *padding="valid", *data_format=null)`, poolBy(ops.AveragePool))
	define("nn", "AdaptiveMaxPool", "adaptive_max_pool(inputs, *output_size, *data_format=null)", adaptivePoolBy(extreme(ops.AdaptiveMaxPool)))
	define("nn", "AdaptiveAveragePool", "adaptive_average_pool(inputs, *output_size, *data_format=null)", adaptivePoolBy(ops.AdaptiveAveragePool))
	define("nn", "Conv", `conv(inputs, kernel, *strides=1, *padding="valid", *data_format=null, *dilation_rate=1)`, oneResult(func(a *operands) *ops.Tensor {
		x, kernel := a.tensor("inputs"), a.tensor("kernel")
		return a.convolve(x, kernel, func(v *convolution, x *ops.Tensor) *ops.Tensor {
			if in := kernel.Dim(-2); in < 1 || !dim.MayEqual(dim.Mod(x.Dim(-1), in), 0) { //dim:known weights have fixed axes
				ops.Failf(a.graph, "conv: the kernel %v does not divide the channels of %v", kernel.Shape(), x.Shape())
			}
			o := v.options(x, dim.FloorDiv(x.Dim(-1), kernel.Dim(-2)))
			return bilinear(x, kernel, func(x, kernel *ops.Tensor) *ops.Tensor { return ops.Conv(x, kernel, o) })
		})
	}))
	define("nn", "DepthwiseConv", `depthwise_conv(inputs, kernel, *strides=1, *padding="valid", *data_format=null, *dilation_rate=1)`, oneResult(func(a *operands) *ops.Tensor {
		x, kernel := a.tensor("inputs"), a.tensor("kernel")
		return a.convolve(x, kernel, func(v *convolution, x *ops.Tensor) *ops.Tensor {
			return bilinear(x, kernel, func(x, kernel *ops.Tensor) *ops.Tensor { return ops.DepthwiseConv(x, kernel, v.options(x, x.Dim(-1))) })
		})
	}))
	define("nn", "SeparableConv", `separable_conv(inputs, depthwise_kernel, pointwise_kernel, *strides=1, *padding="valid", *data_format=null, *dilation_rate=1)`, oneResult(func(a *operands) *ops.Tensor {
		x, kernel := a.tensor("inputs"), a.tensor("depthwise_kernel")
		return a.convolve(x, kernel, func(v *convolution, x *ops.Tensor) *ops.Tensor {
			each := bilinear(x, kernel, func(x, kernel *ops.Tensor) *ops.Tensor { return ops.DepthwiseConv(x, kernel, v.options(x, x.Dim(-1))) })
			return bilinear(each, a.tensor("pointwise_kernel"), func(x, kernel *ops.Tensor) *ops.Tensor { return ops.Conv(x, kernel, ops.ConvOptions{}) })
		})
	}))
	define("nn", "ConvTranspose", `conv_transpose(inputs, kernel, *strides=1, *padding="valid", *output_padding=null, *data_format=null, *dilation_rate=1)`, oneResult(func(a *operands) *ops.Tensor {
		x, kernel := a.tensor("inputs"), a.tensor("kernel")
		return a.convolve(x, kernel, func(v *convolution, x *ops.Tensor) *ops.Tensor {
			if a.given("output_padding") {
				v.outputPadding = tuple(a.graph, "output_padding", a.integers("output_padding"), v.rank, 0, 0)
			}
			return bilinear(x, kernel, v.spread)
		})
	}))
	define("nn", "DepthToSpace", `depth_to_space(x, *block_size, *data_format="channels_last")`, oneResult(blocksBy(ops.DepthToSpace, depthToSpaceFirst)))
	define("nn", "SpaceToDepth", `space_to_depth(x, *block_size, *data_format="channels_last")`, oneResult(blocksBy(ops.SpaceToDepth, spaceToDepthFirst)))
	define("image", "Resize", `resize(images, *size, *interpolation="bilinear", *antialias=false, *crop_to_aspect_ratio=false, *pad_to_aspect_ratio=false, *fill_mode="constant", *fill_value=0.0, *data_format=null)`, oneResult(resizeOperation))
	define("image", "RGBToGrayscale", "rgb_to_grayscale(images, *data_format=null)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("images")
		first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
		axis := -1
		if first {
			axis = -3
		}
		if x.Rank() < 3 || !dim.MayEqual(x.Dim(axis), 3) {
			ops.Failf(a.graph, "rgb_to_grayscale: needs images with 3 channels, received shape %v", x.Shape())
		}
		wide := floating(x)
		y := ops.MultiplyScalar(ops.Index(wide, x.Axis(axis), 0), 0.2989)
		y = ops.Add(y, ops.MultiplyScalar(ops.Index(wide, x.Axis(axis), 1), 0.5870))
		y = ops.Add(y, ops.MultiplyScalar(ops.Index(wide, x.Axis(axis), 2), 0.1140))
		return ops.Cast(ops.ExpandDims(y, x.Axis(axis)), x.DType())
	}))
}

func poolBy(f func(*ops.Tensor, ops.PoolOptions) *ops.Tensor) func(a *operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor {
		x := a.tensor("inputs")
		return poolWindows(x, x.Rank()-2, poolFields{PoolSize: a.integers("pool_size"), Strides: a.integers("strides"), Padding: Padding(a.text("padding")), DataFormat: DataFormat(a.text("data_format"))}, f)
	}
}

func adaptivePoolBy(f func(*ops.Tensor, ...int) *ops.Tensor) func(a *operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor {
		x := a.tensor("inputs")
		for _, n := range a.integers("output_size") {
			a.bounded("output_size", n, maxParts)
		}
		return poolAdaptively(x, x.Rank()-2, a.integers("output_size"), DataFormat(a.text("data_format")), f)
	}
}

// convolve reads the arguments that all convolutions share; f gets the input (batch, spatial..., channels).
func (a *operands) convolve(x, kernel *ops.Tensor, f func(v *convolution, x *ops.Tensor) *ops.Tensor) *ops.Tensor {
	n := x.Rank() - 2
	first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
	if n < 1 || n > 3 || kernel.Rank() != n+2 {
		ops.Failf(a.graph, "a convolution needs inputs %s and a kernel with as many axes, received %v and %v", spatialForm(2, first), x.Shape(), kernel.Shape())
	}
	for _, d := range kernel.Shape() {
		if d == 0 {
			ops.Failf(a.graph, "a convolution needs a kernel that is not empty, received shape %v", kernel.Shape())
		}
	}
	v := &convolution{rank: n, kernelSize: slices.Clone([]int(kernel.Shape()[:n])), channelsFirst: first, same: isSame(a.graph, Padding(a.text("padding")))}
	v.strides = tuple(a.graph, "strides", a.integers("strides"), n, 1, 1)
	v.dilation = tuple(a.graph, "dilation_rate", a.integers("dilation_rate"), n, 1, 1)
	return fromLast(f(v, toLast(x, first)), first)
}

// blocksBy moves blocks with last. If the channels come before the rows and columns it uses first, unless that returns
// nil.
func blocksBy(last, first func(x *ops.Tensor, block int) *ops.Tensor) func(a *operands) *ops.Tensor {
	return func(a *operands) *ops.Tensor {
		x, block, inFront := a.tensor("x"), a.integer("block_size"), isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
		if inFront && x.Rank() == 4 && block >= 1 {
			if y := first(x, block); y != nil {
				return y
			}
		}
		return fromLast(last(toLast(x, inFront), block), inFront)
	}
}

// depthToSpaceFirst is [ops.DepthToSpace] of (batch, channels, height, width), in one transposition; nil if the
// channels do not fit.
func depthToSpaceFirst(x *ops.Tensor, block int) *ops.Tensor {
	if !dim.MayEqual(dim.Mod(x.Dim(1), block*block), 0) {
		return nil
	}
	b, c, h, w := x.Dim(0), dim.FloorDiv(x.Dim(1), block*block), x.Dim(2), x.Dim(3)
	y := ops.Transpose(ops.Reshape(x, b, block, block, c, h, w), 0, 3, 4, 1, 5, 2)
	return ops.Reshape(y, b, c, dim.Mul(h, block), dim.Mul(w, block))
}

// spaceToDepthFirst is the inverse of depthToSpaceFirst; nil if height or width do not fit.
func spaceToDepthFirst(x *ops.Tensor, block int) *ops.Tensor {
	if !dim.MayEqual(dim.Mod(x.Dim(2), block), 0) || !dim.MayEqual(dim.Mod(x.Dim(3), block), 0) {
		return nil
	}
	b, c, h, w := x.Dim(0), x.Dim(1), dim.FloorDiv(x.Dim(2), block), dim.FloorDiv(x.Dim(3), block)
	y := ops.Transpose(ops.Reshape(x, b, c, h, block, w, block), 0, 3, 5, 1, 2, 4)
	return ops.Reshape(y, b, dim.Mul(block*block, c), h, w)
}

func resizeOperation(a *operands) *ops.Tensor {
	x, size := a.tensor("images"), a.integers("size")
	if len(size) == 1 {
		size = append(size, size[0])
	}
	first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
	if len(size) != 2 || size[0] < 1 || size[1] < 1 || x.Rank() < 3 || x.Rank() > 4 {
		ops.Failf(a.graph, "resize: needs images (height, width, channels) or (batch, height, width, channels) and two lengths, received %v and %v", x.Shape(), size)
	}
	axes := [2]int{x.Rank() - 3, x.Rank() - 2}
	if first {
		axes = [2]int{x.Rank() - 2, x.Rank() - 1}
	}
	for i, axis := range axes {
		a.bounded("the length of an image", dim.Max(size[i], x.Dim(axis)), maxParts)
	}
	switch {
	case a.boolean("crop_to_aspect_ratio"):
		x = cropToAspectRatio(x, axes, size[0], size[1])
	case a.boolean("pad_to_aspect_ratio"):
		a.refuse("fill_mode", "constant")
		x = padToAspectRatio(x, axes, size[0], size[1], a.number("fill_value"))
	}
	y := resizeImages(x, axes, size[0], size[1], Interpolation(a.text("interpolation")), a.boolean("antialias"))
	if x.DType().IsInteger() { // results between integers are rounded, and those beyond the type are its limits
		return ops.SaturateCast(ops.Round(y), x.DType())
	}
	return ops.Cast(y, x.DType())
}
