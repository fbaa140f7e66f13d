package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// optionalNumber is a number that may be left out.
func (a *operands) optionalNumber(name string) *float64 {
	if !a.given(name) {
		return nil
	}
	return new(a.number(name))
}

func init() {
	define("linalg", "SVD", "svd(x, *full_matrices=true, *compute_uv=true)", func(a *operands) []*ops.Tensor {
		u, s, vh := ops.Svd(a.tensor("x"), a.boolean("full_matrices") && a.boolean("compute_uv"))
		if !a.boolean("compute_uv") {
			return []*ops.Tensor{s}
		}
		return []*ops.Tensor{u, s, vh}
	})
	define("linalg", "Eigh", "eigh(x)", func(a *operands) []*ops.Tensor {
		w, v := ops.Eigh(a.tensor("x"))
		return []*ops.Tensor{w, v}
	})
	define("linalg", "LuFactor", "lu_factor(x)", func(a *operands) []*ops.Tensor {
		lu, pivots := ops.LuFactor(a.tensor("x"))
		return []*ops.Tensor{lu, pivots}
	})
	define("linalg", "Pinv", "pinv(x, *rcond=null)", oneResult(func(a *operands) *ops.Tensor {
		return ops.Pinv(a.tensor("x"), a.optionalNumber("rcond"))
	}))
	define("linalg", "MatrixRank", "matrix_rank(x, *tol=null)", oneResult(func(a *operands) *ops.Tensor {
		return ops.MatrixRank(a.tensor("x"), a.optionalNumber("tol"))
	}))
	define("linalg", "Lstsq", "lstsq(a, b, *rcond=null)", oneResult(func(a *operands) *ops.Tensor {
		return ops.Lstsq(a.tensor("a"), a.tensor("b"), a.optionalNumber("rcond"))
	}))
	define("nn", "Unfold", "unfold(x, *kernel_size, *dilation=1, *padding=0, *stride=1)", oneResult(func(a *operands) *ops.Tensor {
		o := a.foldOptions()
		return amongWhole(a.tensor("x"), func(x *ops.Tensor) *ops.Tensor { return ops.Unfold(x, o) })
	}))
	define("nn", "Fold", "fold(x, *output_size, *kernel_size, *dilation=1, *padding=0, *stride=1)", oneResult(func(a *operands) *ops.Tensor {
		size := tuple(a.graph, "output_size", a.integers("output_size"), 2, 0, 1)
		a.bounded("output_size", size[0], maxTable)
		a.bounded("output_size", size[1], maxTable)
		o := a.foldOptions()
		return amongWhole(a.tensor("x"), func(x *ops.Tensor) *ops.Tensor { return ops.Fold(x, size[0], size[1], o) })
	}))
	onColours := func(class, name string, f func(x *ops.Tensor, axis int) *ops.Tensor) {
		define("image", class, name+"(images, *data_format=null)", oneResult(func(a *operands) *ops.Tensor {
			axis := -1
			if isChannelsFirst(a.graph, DataFormat(a.text("data_format"))) {
				axis = -3
			}
			return f(a.tensor("images"), axis)
		}))
	}
	onColours("RGBToHSV", "rgb_to_hsv", ops.RGBToHSV)
	onColours("HSVToRGB", "hsv_to_rgb", ops.HSVToRGB)
	define("image", "ExtractPatches", `extract_patches(images, *size, *strides=null, *dilation_rate=1, *padding="valid", *data_format=null)`, oneResult(extractPatches))
	define("image", "PadImages", "pad_images(images, *top_padding=null, *left_padding=null, *bottom_padding=null, *right_padding=null, *target_height=null, *target_width=null, *data_format=null)", oneResult(padImages))
	define("image", "CropImages", "crop_images(images, *top_cropping=null, *left_cropping=null, *bottom_cropping=null, *right_cropping=null, *target_height=null, *target_width=null, *data_format=null)", oneResult(cropImages))
	define("image", "SobelEdges", "sobel_edges(images, *data_format=null)", oneResult(func(a *operands) *ops.Tensor {
		first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
		x := channelsToLast(a.tensor("images"), first)
		if x.DType() == ir.Bool || x.DType().IsInteger() && !x.DType().IsSigned() {
			ops.Failf(a.graph, "sobel_edges: %v holds no differences; cast the images to a float or to a signed type", x.DType())
		}
		y := amongWhole(x, ops.SobelEdges)
		if first {
			y = ops.MoveAxis(y, -2, -4)
		}
		return y
	}))
	define("image", "GaussianBlur", "gaussian_blur(images, *kernel_size=[3,3], *sigma=[1.0,1.0], *data_format=null)", oneResult(func(a *operands) *ops.Tensor {
		first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
		for _, n := range a.integers("kernel_size") {
			a.bounded("kernel_size", n, maxParts)
		}
		size, sigma := tuple(a.graph, "kernel_size", a.integers("kernel_size"), 2, 3, 1), a.numbers("sigma")
		if len(sigma) != 2 {
			a.fail("sigma", "two numbers")
		}
		return channelsFromLast(ops.GaussianBlur(channelsToLast(a.tensor("images"), first), [2]int(size), [2]float64(sigma)), first)
	}))
}

// channelsToLast moves the channels of images with or without a batch to the end; channelsFromLast moves them back.
func channelsToLast(x *ops.Tensor, first bool) *ops.Tensor {
	if first && x.Rank() >= 3 {
		return ops.MoveAxis(x, -3, -1)
	}
	return x
}

func channelsFromLast(x *ops.Tensor, first bool) *ops.Tensor {
	if first {
		return ops.MoveAxis(x, -1, -3)
	}
	return x
}

// numbers reads a list of numbers.
func (a *operands) numbers(name string) []float64 {
	list, ok := a.values[name].([]any)
	if !ok {
		return []float64{a.number(name), a.number(name)}
	}
	out := make([]float64, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case float64:
			out[i] = v
		case int64:
			out[i] = float64(v)
		default:
			a.fail(name, "numbers")
		}
	}
	return out
}

func (a *operands) foldOptions() ops.FoldOptions {
	pair := func(name string, def, least int) []int {
		return tuple(a.graph, name, a.integers(name), 2, def, least)
	}
	for _, name := range []string{"kernel_size", "dilation", "padding", "stride"} {
		for _, n := range a.integers(name) {
			a.bounded(name, n, maxParts)
		}
	}
	return ops.FoldOptions{Window: pair("kernel_size", 0, 1), Dilation: pair("dilation", 1, 1), Padding: pair("padding", 0, 0), Strides: pair("stride", 1, 1)}
}

func extractPatches(a *operands) *ops.Tensor {
	x, size := a.tensor("images"), a.integers("size")
	n := 2
	if len(size) == 3 {
		n = 3
	}
	first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
	size = tuple(a.graph, "size", size, n, 0, 1)
	elements := 1
	for _, k := range size {
		a.bounded("size", k, maxParts)
		elements *= k
		a.bounded("the elements of a patch", elements, maxParts)
	}
	strides := size
	if a.given("strides") {
		strides = tuple(a.graph, "strides", a.integers("strides"), n, 1, 1)
	}
	if first && x.Rank() > n {
		x = ops.MoveAxis(x, -n-1, -1)
	}
	if x.Rank() < n+1 {
		ops.Failf(a.graph, "extract_patches: needs images with %d axes and channels, received shape %v", n, x.Shape())
	}
	v := &convolution{rank: n, kernelSize: size, strides: strides, same: isSame(a.graph, Padding(a.text("padding")))}
	v.dilation = tuple(a.graph, "dilation_rate", a.integers("dilation_rate"), n, 1, 1)
	batch := x
	if x.Rank() == n+1 {
		batch = ops.ExpandDims(x, 0)
	}
	y := ops.ExtractPatches(x, size, v.options(batch, 1))
	if first {
		y = ops.MoveAxis(y, -1, -n-1)
	}
	return y
}

// padImages computes the four paddings from those given and from the size of the result.
func padImages(a *operands) *ops.Tensor {
	x, first, size := a.images("pad_images")
	var pad [4]int
	for i, side := range [2][3]string{{"top_padding", "bottom_padding", "target_height"}, {"left_padding", "right_padding", "target_width"}} {
		low, high := a.between(side, func(total, known int) int { return total - size[i] - known })
		a.bounded(side[0], low, maxTable)
		a.bounded(side[1], high, maxTable)
		pad[i], pad[2+i] = low, high
	}
	return channelsFromLast(ops.PadImages(x, pad[0], pad[1], pad[2], pad[3]), first)
}

func cropImages(a *operands) *ops.Tensor {
	x, first, size := a.images("crop_images")
	var low, rest [2]int
	for i, side := range [2][3]string{{"top_cropping", "bottom_cropping", "target_height"}, {"left_cropping", "right_cropping", "target_width"}} {
		l, h := a.between(side, func(total, known int) int { return size[i] - total - known })
		low[i], rest[i] = l, size[i]-l-h
	}
	return channelsFromLast(ops.CropImages(x, low[0], low[1], rest[0], rest[1]), first)
}

// images reads images as (..., height, width, channels), and their height and width.
func (a *operands) images(what string) (x *ops.Tensor, first bool, size [2]int) {
	first = isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
	x = a.tensor("images")
	if x.Rank() < 3 || x.Rank() > 4 {
		ops.Failf(a.graph, "%s: needs images (height, width, channels), with or without a batch, received shape %v", what, x.Shape())
	}
	x = channelsToLast(x, first)
	return x, first, [2]int{x.Dim(-3), x.Dim(-2)}
}

// between reads two of three arguments: the amount on one side, on the other, and in total. rest computes a side from
// the other two.
func (a *operands) between(names [3]string, rest func(total, known int) int) (low, high int) {
	given := 0
	for _, n := range names {
		if a.given(n) {
			given++
		}
	}
	if given != 2 {
		ops.Failf(a.graph, "exactly two of %s, %s and %s must be given, received %d", names[0], names[1], names[2], given)
	}
	switch {
	case !a.given(names[2]):
		return a.integer(names[0]), a.integer(names[1])
	case a.given(names[0]):
		low = a.integer(names[0])
		return low, rest(a.integer(names[2]), low)
	}
	high = a.integer(names[1])
	return rest(a.integer(names[2]), high), high
}
