package layers

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// needColours reports images whose number of channels is not one of those given.
func needColours(x *ops.Tensor, axis int, counts ...int) {
	if !slices.Contains(counts, x.Dim(axis)) {
		ops.Failf(x.Graph(), "expected images with %v channels on axis %d, received shape %v", counts, axis, x.Shape())
	}
}

// grayscale returns the brightness of colours (ITU-R BT.601) as one channel; images of one channel stay as they are.
func grayscale(x *ops.Tensor, axis int) *ops.Tensor {
	if x.Dim(axis) == 1 {
		return x
	}
	weights := along(ops.Constant(x, x.DType(), ir.Shape{3}, []float64{0.2989, 0.5870, 0.1140}), x, axis)
	return ops.KeepDims(ops.Sum(ops.Multiply(x, weights), axis), x, axis)
}

// rescale maps numbers from one range to another.
func rescale(x *ops.Tensor, fromLow, fromHigh, toLow, toHigh float64) *ops.Tensor {
	if fromLow == toLow && fromHigh == toHigh {
		return x
	}
	unit := ops.DivideScalar(ops.SubtractScalar(x, fromLow), fromHigh-fromLow)
	return ops.AddScalar(ops.MultiplyScalar(unit, toHigh-toLow), toLow)
}

// smallest is the distance from 1 to the next number of a type.
func smallest(dtype ir.DType) float64 { return math.Ldexp(1, 1-dtype.Digits()) }

// toHSV splits colours into hue (as a fraction of a turn), saturation (from 0 to 1) and value (that of the largest
// channel), each with a channel axis of length 1.
func toHSV(x *ops.Tensor, axis int) (hue, saturation, value *ops.Tensor) {
	x = ops.Where(ops.CompareScalar(ir.Lt, ops.Abs(x), smallest(x.DType())), ops.Scalar(x, 0), x)
	rgb := ops.Split(x, 3, axis)
	r, g, b := rgb[0], rgb[1], rgb[2]
	value = ops.Maximum(ops.Maximum(r, g), b)
	spread := ops.Subtract(value, ops.Minimum(ops.Minimum(r, g), b))
	one, zero := ops.Scalar(x, 1), ops.Scalar(x, 0)
	bright, coloured := ops.CompareScalar(ir.Gt, value, 0), ops.CompareScalar(ir.Gt, spread, 0)
	saturation = ops.Where(bright, ops.Divide(spread, ops.Where(bright, value, one)), zero)
	norm := ops.Divide(one, ops.MultiplyScalar(ops.Where(coloured, spread, one), 6))
	hue = ops.Where(ops.Equal(value, g),
		ops.AddScalar(ops.Multiply(norm, ops.Subtract(b, r)), 2.0/6),
		ops.AddScalar(ops.Multiply(norm, ops.Subtract(r, g)), 4.0/6))
	hue = ops.Where(ops.Equal(value, r), ops.Multiply(norm, ops.Subtract(g, b)), hue)
	below := ops.Cast(ops.CompareScalar(ir.Lt, hue, 0), x.DType())
	return ops.Add(ops.Where(coloured, hue, zero), below), saturation, value
}

// fromHSV is the inverse of toHSV.
func fromHSV(hue, saturation, value *ops.Tensor, axis int) *ops.Tensor {
	turn := ops.MultiplyScalar(ops.Mod(hue, ops.Scalar(hue, 1)), 6)
	distance := func(from float64) *ops.Tensor { return ops.Abs(ops.SubtractScalar(turn, from)) }
	one, two := ops.Scalar(hue, 1), ops.Scalar(hue, 2)
	channel := func(share *ops.Tensor) *ops.Tensor {
		share = ops.Clip(share, 0, 1)
		return ops.Multiply(value, ops.Add(ops.Subtract(one, saturation), ops.Multiply(saturation, share)))
	}
	return ops.Concatenate(axis, channel(ops.SubtractScalar(distance(3), 1)), channel(ops.Subtract(two, distance(2))), channel(ops.Subtract(two, distance(4))))
}

// blurAxis sums neighbours along an axis by a vector of weights of odd length, with zeros beyond the ends.
func blurAxis(x *ops.Tensor, axis int, weights *ops.Tensor) *ops.Tensor {
	n := weights.Dim(0)
	ops.Fixed(x, "a blur", n)
	pads := make([]int, x.Rank())
	pads[axis] = n / 2 //dim:known
	wide := ops.Pad(x, pads, pads, 0)
	var sum *ops.Tensor
	for i := range n { //dim:known
		part := ops.Multiply(ops.SliceAxis(wide, axis, i, dim.Add(i, x.Dim(axis))), ops.Index(weights, 0, i))
		if sum == nil {
			sum = part
		} else {
			sum = ops.Add(sum, part)
		}
	}
	return sum
}

// orOne returns a factor, or the single number 1, which stands for {0, 1}, if it is nil.
func orOne(values []float64) []float64 {
	if values == nil {
		return []float64{1}
	}
	return values
}

// drawChoice draws for each image whether it is changed, with a probability that is itself uniform in the range of a
// factor.
func drawChoice(c *Context, x *ops.Tensor, seed *int, factor []float64) *ops.Tensor {
	low, high := spread(factor, 0)
	probability := uniform(c, seed, low, high, imageCount(x))
	return ops.Less(uniform(c, seed, 0, 1, imageCount(x)), probability)
}
