package layers

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// resizingKernel is the weight of a cell at a distance from the sampled point, and the distance from which on it is 0.
type resizingKernel struct {
	radius int
	weight func(distance float64) float64
}

// interpolations are the kernels of image resizing.
var interpolations = map[Interpolation]resizingKernel{
	"bilinear": {1, func(d float64) float64 { return 1 - d }},
	"bicubic":  {2, keysCubic},
	"lanczos3": {3, func(d float64) float64 { return lanczos(3, d) }},
	"lanczos5": {5, func(d float64) float64 { return lanczos(5, d) }},
}

// resizing is the kernel of an interpolation.
func resizing(x *ops.Tensor, interpolation Interpolation) resizingKernel {
	kernel, ok := interpolations[interpolation]
	if !ok {
		ops.Failf(x.Graph(), "unknown Interpolation %q; use \"nearest\", \"bilinear\", \"bicubic\", \"lanczos3\" or \"lanczos5\"", interpolation)
	}
	return kernel
}

// keysCubic is the cubic kernel with a = -1/2. Source: Keys, "Cubic Convolution Interpolation for Digital Image
// Processing", IEEE Transactions on Acoustics, Speech, and Signal Processing 29(6), 1981.
func keysCubic(d float64) float64 {
	if d < 1 {
		return (1.5*d-2.5)*d*d + 1
	}
	return ((-0.5*d+2.5)*d-4)*d + 2
}

// lanczos is sinc(d)·sinc(d/radius).
func lanczos(radius, d float64) float64 {
	if d <= 1e-3 {
		return 1
	}
	return radius * math.Sin(math.Pi*d) * math.Sin(math.Pi*d/radius) / (math.Pi * math.Pi * d * d)
}

// resizeAxis gives one axis another length. Cell i of the result is sampled at (i + ½)·old/new - ½ of the input, from
// the 2·radius nearest cells; the weights of cells outside the image are redistributed to those inside. With antialias
// the kernel is old/new times as wide if the axis becomes shorter, so that every cell of the input counts.
//
//dim:known what is open is left at once
func resizeAxis(x *ops.Tensor, axis, length int, interpolation Interpolation, antialias bool) *ops.Tensor {
	kernel := resizing(x, interpolation)
	if !x.DType().IsFloat() {
		x = ops.Cast(x, ir.Float32)
	}
	old, wide := x.Dim(axis), 1.0
	if !dim.Known(old) || !dim.Known(length) {
		return ops.Take(x, ops.Table(x, ir.Uint32, ir.Shape{length}, nil, old), axis)
	}
	if antialias {
		wide = max(float64(old)/float64(length), 1)
	}
	reach := int(math.Ceil(float64(kernel.radius) * wide))
	taps := 2 * reach
	ops.CheckTable(x, "resizing", taps, length)
	cells, weights := make([]int, taps*length), make([]float64, taps*length)
	for i := range length {
		at := (float64(i)+0.5)*float64(old)/float64(length) - 0.5
		first, total := int(math.Floor(at))-reach+1, 0.0
		c, w := cells[i*taps:(i+1)*taps], weights[i*taps:(i+1)*taps]
		for t := range taps {
			cell := first + t
			c[t] = min(max(cell, 0), old-1) // with weight 0, where there is none
			if d := math.Abs(at-float64(cell)) / wide; cell == c[t] && d < float64(kernel.radius) {
				w[t] = kernel.weight(d)
				total += w[t]
			}
		}
		for t := range taps {
			w[t] /= total
		}
	}
	return ops.Resample(x, axis, taps, cells, weights)
}

// resizeNearest gives one axis another length: cell i of the result is cell floor((i + ½)·old/new) of the input.
func resizeNearest(x *ops.Tensor, axis, length int) *ops.Tensor {
	old := x.Dim(axis)
	if dim.Known(old) && dim.Known(length) && old > 0 && length > 0 { //dim:known
		switch {
		case length%old == 0: //dim:known
			return ops.Repeat(x, length/old, axis) //dim:known
		case old%length == 0: //dim:known
			starts, steps := make([]int, x.Rank()), slices.Repeat([]int{1}, x.Rank())
			steps[axis] = old / length     //dim:known
			starts[axis] = steps[axis] / 2 //dim:known
			return ops.StridedSlice(x, starts, x.Shape(), steps)
		}
	}
	return ops.Take(x, ops.Table(x, ir.Uint32, ir.Shape{length}, func() []float64 {
		cells := make([]float64, length) //dim:known
		for i := range cells {
			cells[i] = float64((2*i + 1) * old / (2 * length)) //dim:known
		}
		return cells
	}, old), axis)
}

// resizeImages gives images a height and width; axes are those of the two. An axis that already has its length is left
// alone.
func resizeImages(x *ops.Tensor, axes [2]int, height, width int, interpolation Interpolation, antialias bool) *ops.Tensor {
	lengths := [2]int{height, width}
	if interpolation == "nearest" && widthFirst(x.Dim(axes[0]), x.Dim(axes[1]), height, width) {
		slices.Reverse(axes[:])
		slices.Reverse(lengths[:])
	}
	for i, length := range lengths {
		switch {
		case x.Dim(axes[i]) == length:
		case interpolation == "nearest":
			x = resizeNearest(x, axes[i], length)
		default:
			x = resizeAxis(x, axes[i], length, interpolation, antialias)
		}
	}
	return x
}

// widthFirst reports whether images of h x w pixels that get a height and width should get the width first. Moving
// single pixels takes about four times as long as moving rows of them.
func widthFirst(h, w, height, width int) bool {
	if !dim.Known(h) || !dim.Known(w) || !dim.Known(height) || !dim.Known(width) {
		return false
	}
	return 4*h*width+height*width < height*w+4*height*width //dim:known
}

// cropToAspectRatio cuts out the largest central piece of images with the ratio of height to width.
func cropToAspectRatio(x *ops.Tensor, axes [2]int, height, width int) *ops.Tensor {
	h, w := x.Dim(axes[0]), x.Dim(axes[1])
	cropHeight := dim.Max(dim.Min(h, dim.FloorDiv(dim.Mul(w, height), width)), 1)
	cropWidth := dim.Max(dim.Min(w, dim.FloorDiv(dim.Mul(h, width), height)), 1)
	top, left := dim.FloorDiv(dim.Sub(h, cropHeight), 2), dim.FloorDiv(dim.Sub(w, cropWidth), 2)
	x = ops.SliceAxis(x, axes[0], top, dim.Add(top, cropHeight))
	return ops.SliceAxis(x, axes[1], left, dim.Add(left, cropWidth))
}

// padToAspectRatio puts a border of the given value around images so that they get the ratio of height to width, minus
// one cell if the border would be odd. Like Keras, it pads along the height, or else along the width.
func padToAspectRatio(x *ops.Tensor, axes [2]int, height, width int, value float64) *ops.Tensor {
	h, w := x.Dim(axes[0]), x.Dim(axes[1])
	if !dim.Known(h) || !dim.Known(w) {
		x.Graph().OnlyShapes() // which way the border goes shows later
	}
	top := dim.FloorDiv(dim.Sub(dim.Max(h, dim.FloorDiv(dim.Mul(w, height), width)), h), 2)
	left := dim.FloorDiv(dim.Sub(dim.Max(w, dim.FloorDiv(dim.Mul(h, width), height)), w), 2)
	pads := make([]int, x.Rank())
	if top != 0 {
		pads[axes[0]] = top
	} else {
		pads[axes[1]] = left
	}
	return ops.Pad(x, pads, pads, value)
}

// imageAxes returns the axes of height, width and channels of images (batch, height, width, channels), or of one image
// without the batch.
func imageAxes(x *ops.Tensor, dataFormat DataFormat) (spatial [2]int, channels int) {
	first := isChannelsFirst(x.Graph(), dataFormat)
	if r := x.Rank(); r != 3 && r != 4 {
		ops.Failf(x.Graph(), "expected images of 4 axes %s, or one image of 3, received shape %v; reshape it or add the missing axes",
			spatialForm(2, first), x.Shape())
	}
	b := x.Rank() - 3
	if first {
		return [2]int{b + 1, b + 2}, b
	}
	return [2]int{b, b + 1}, b + 2
}
