package layers

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Convolutions are computed with the channels last. Bringing the input into that order and the result back often takes
// longer than the products: where windows with strides or distances leave most of the input out, what no window meets
// is cut out before, and windows of one, which are products of matrices, leave the channels where they are.

// convolved is the result of a convolution, (batch, channels, spatial...) or (batch, spatial..., channels).
type convolved struct {
	y       *ops.Tensor
	inFront bool // the channels
}

// inFront convolves an input (batch, channels, spatial...) with a kernel; the options are what they would be with the
// channels last.
func inFront(x, kernel *ops.Tensor, o ops.ConvOptions) convolved {
	window := kernel.Shape()[:kernel.Rank()-2]
	x, o = seen(x, window, o)
	if y := pointwise(x, kernel, o); y != nil {
		return convolved{y, true}
	}
	return convolved{ops.Conv(toLast(x, true), kernel, o), false}
}

// pointwiseFilters is how many results for each channel of the input there may be where there are no groups: adding the
// bias to more of them costs as much as bringing them into another order.
const pointwiseFilters = 2

// pointwise convolves with windows of one as products of the kernel with what there is of each channel, in each example
// and group. It returns nil for other windows, for many filters, and where a kernel has more numbers than the input and
// result of an example, because each example gets its own.
//
//dim:known what is computed with are weights and pixels that are known
func pointwise(x, kernel *ops.Tensor, o ops.ConvOptions) *ops.Tensor {
	rank := x.Rank() - 2
	one := func(n int) bool { return n == 1 }
	zero := func(n int) bool { return n == 0 }
	spatial, groups := x.Shape()[2:], max(o.Groups, 1)
	pixels := dim.Mul(spatial...)
	if !all(kernel.Shape()[:rank], one) || !all(o.Strides, one) || !all(o.PadLow, zero) || !all(o.PadHigh, zero) ||
		!dim.Known(pixels) || x.DType() != kernel.DType() || x.DType().IsHalf() { // sums over examples would be rounded twice
		return nil
	}
	batch, in, filters := x.Dim(0), kernel.Dim(-2), kernel.Dim(-1)
	many := groups == 1 && filters > pointwiseFilters*in
	large := batch != 1 && in*filters > pixels*(in*groups+filters)
	if many || large {
		return nil
	}
	weights := ops.ExpandDims(ops.Transpose(ops.Reshape(kernel, in, groups, filters/groups), 1, 2, 0), 0)
	x = ops.Reshape(x, batch, groups, in, pixels)
	var y *ops.Tensor
	if in == 1 && filters == groups {
		y = ops.Multiply(weights, x)
	} else {
		y = ops.Dot(ops.BroadcastTo(weights, batch, groups, filters/groups, in), x,
			ir.DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{0, 1}, LhsContract: []int{3}, RhsContract: []int{2}})
	}
	return ops.Reshape(y, append([]int{batch, filters}, spatial...)...)
}

func all(list []int, f func(int) bool) bool {
	return !slices.ContainsFunc(list, func(n int) bool { return !f(n) })
}

// seen cuts out of an input (batch, channels, spatial...) what a convolution with the given window and options meets,
// where along an axis that is every second place or less, and returns the options for what is left.
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
