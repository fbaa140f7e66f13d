package layers

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Convolutions are computed with the channels last. Transposing the input to that order and the result back often takes
// longer than the products. So if strides or dilations skip most of the input, the cells that no window reads are cut
// out first, and windows of one cell, which are matrix products, leave the channels where they are.

// convolved is the result of a convolution, (batch, channels, spatial...) or (batch, spatial..., channels).
type convolved struct {
	y       *ops.Tensor
	inFront bool // the channels
	biased  bool // the bias is part of it
}

// inFront convolves an input (batch, channels, spatial...) with a kernel; the options are those for channels last. It
// may add the bias, which is nil if there is none.
func inFront(x, kernel, bias *ops.Tensor, o ops.ConvOptions) convolved {
	window := kernel.Shape()[:kernel.Rank()-2]
	x, o = seen(x, window, o)
	if r := pointwise(x, kernel, bias, o); r.y != nil {
		return r
	}
	return convolved{y: ops.Conv(toLast(x, true), kernel, o)}
}

// pointwise computes convolutions with windows of one cell as products of the kernel and the channels of each example
// and group. It returns nil for other windows, and if the kernel has more numbers than the input and result of an
// example, because each example gets its own copy. If a group has more results than inputs, the bias becomes the weight
// of an additional input that is 1 everywhere, which costs less than another pass over the results.
//
//dim:known what is computed with are weights and pixels that are known
func pointwise(x, kernel, bias *ops.Tensor, o ops.ConvOptions) (r convolved) {
	rank := x.Rank() - 2
	one := func(n int) bool { return n == 1 }
	zero := func(n int) bool { return n == 0 }
	spatial, groups := x.Shape()[2:], max(o.Groups, 1)
	pixels := dim.Mul(spatial...)
	if !all(kernel.Shape()[:rank], one) || !all(o.Strides, one) || !all(o.PadLow, zero) || !all(o.PadHigh, zero) ||
		!dim.Known(pixels) || x.DType() != kernel.DType() || x.DType().IsHalf() { // sums over examples would be rounded twice
		return r
	}
	batch, in, filters := x.Dim(0), kernel.Dim(-2), kernel.Dim(-1)
	if batch != 1 && in*filters > pixels*(in*groups+filters) {
		return r
	}
	weights := ops.ExpandDims(ops.Transpose(ops.Reshape(kernel, in, groups, filters/groups), 1, 2, 0), 0)
	x = ops.Reshape(x, batch, groups, in, pixels)
	if r.biased = bias != nil && filters > groups*in; r.biased {
		weights = ops.Concatenate(3, weights, ops.Reshape(bias, 1, groups, filters/groups, 1))
		x = ops.Concatenate(2, x, ops.Ones(x, x.DType(), batch, groups, 1, pixels))
		in++
	}
	var y *ops.Tensor
	if in == 1 && filters == groups {
		y = ops.Multiply(weights, x)
	} else {
		y = ops.Dot(ops.BroadcastTo(weights, batch, groups, filters/groups, in), x,
			ir.DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{0, 1}, LhsContract: []int{3}, RhsContract: []int{2}})
	}
	r.y, r.inFront = ops.Reshape(y, append([]int{batch, filters}, spatial...)...), true
	return r
}

func all(list []int, f func(int) bool) bool {
	return !slices.ContainsFunc(list, func(n int) bool { return !f(n) })
}

// seen keeps only the cells of an input (batch, channels, spatial...) that a convolution with the given window and
// options reads, along axes where that is at most every second cell. It returns the options for the smaller input.
//
//dim:known windows are constants, and axes of open length are left as they are
func seen(x *ops.Tensor, window []int, o ops.ConvOptions) (*ops.Tensor, ops.ConvOptions) {
	rank := len(window)
	start, limit, step := make([]int, rank+2), ints.Clone(x.Shape()), ints.Repeat(1, rank+2)
	s := o
	s.Strides, s.Dilation = ints.Clone(o.Strides), ints.Clone(o.Dilation)
	for i, taps := range window {
		n := x.Dim(i + 2)
		if !dim.Known(n) || o.PadLow != nil && o.PadLow[i]+o.PadHigh[i] > 0 { // what Keras pads is seldom left out
			continue
		}
		last := (taps - 1) * o.Dilation[i]    // tap of a window
		more := (n - 1 - last) / o.Strides[i] // windows after the first
		switch {
		case taps == 1:
			step[i+2] = o.Strides[i]
		case more == 0:
			step[i+2] = o.Dilation[i]
		}
		if step[i+2] > 1 {
			limit[i+2] = more*o.Strides[i] + last + 1
			s.Strides[i], s.Dilation[i] = 1, 1
		}
	}
	if slices.Max(step) == 1 {
		return x, o
	}
	return ops.StridedSlice(x, start, limit, step), s
}
