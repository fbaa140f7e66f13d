package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// interpolations are the kernels of image resizing: the weight of a cell at a distance from the sampled point, and the distance
// from which on it is 0.
var interpolations = map[string]struct {
	radius int
	weight func(distance float64) float64
}{
	"bilinear": {1, func(d float64) float64 { return 1 - d }},
	"bicubic":  {2, keysCubic},
	"lanczos3": {3, func(d float64) float64 { return lanczos(3, d) }},
	"lanczos5": {5, func(d float64) float64 { return lanczos(5, d) }},
}

// keysCubic is the cubic kernel with a = -1/2. Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing",
// IEEE Transactions on Acoustics, Speech, and Signal Processing 29(6), 1981.
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

// resizeAxis gives one axis another length. Cell i of the result is sampled at (i + ½)·old/new - ½ of the input, from the 2·radius
// nearest cells; the weights of those outside go to the ones inside.
func resizeAxis(x *ops.Tensor, axis, length int, interpolation string) *ops.Tensor {
	kernel, ok := interpolations[interpolation]
	if !ok {
		ops.Failf(x.Graph(), "unknown Interpolation %q; use \"nearest\", \"bilinear\", \"bicubic\", \"lanczos3\" or \"lanczos5\"", interpolation)
	}
	if !x.DType().IsFloat() {
		x = ops.Cast(x, ir.Float32)
	}
	old := x.Dim(axis)
	taps := 2 * kernel.radius
	cells, weights := make([][]float64, taps), make([][]float64, taps)
	for t := range taps {
		cells[t], weights[t] = make([]float64, length), make([]float64, length)
	}
	for i := range length {
		at := (float64(i)+0.5)*float64(old)/float64(length) - 0.5
		first, total := int(math.Floor(at))-kernel.radius+1, 0.0
		for t := range taps {
			cell := first + t
			if d := math.Abs(at - float64(cell)); cell >= 0 && cell < old && d < float64(kernel.radius) {
				cells[t][i], weights[t][i] = float64(cell), kernel.weight(d)
				total += weights[t][i]
			}
		}
		for t := range taps {
			weights[t][i] /= total
		}
	}
	var y *ops.Tensor
	for t := range taps {
		part := ops.Take(x, ops.Constant(x, ir.Uint32, ir.Shape{length}, cells[t]), axis)
		part = ops.Multiply(part, along(ops.Constant(x, x.DType(), ir.Shape{length}, weights[t]), x, axis))
		if y == nil {
			y = part
		} else {
			y = ops.Add(y, part)
		}
	}
	return y
}
