package ops

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Reshape gives x a new shape with the same elements in row-major order; one axis may be -1 and is then computed.
func Reshape(x *Tensor, shape ...int) *Tensor {
	s := slices.Clone(shape)
	if i := slices.Index(s, -1); i >= 0 {
		if slices.Contains(s[i+1:], -1) {
			Failf(x.g, "reshape: %v has more than one -1; only one axis can be worked out", shape)
		}
		s[i] = 1
		rest := ir.Shape(s).Size()
		size := x.Shape().Size()
		if rest == 0 || !dim.MayEqual(dim.Mod(size, rest), 0) {
			Failf(x.g, "reshape: cannot work out the -1 in %v for %s elements of %v", shape, dim.String(size), x.Shape())
		}
		s[i] = dim.FloorDiv(size, rest)
	}
	if x.Shape().Equal(s) {
		return x
	}
	return apply1(ir.Reshape, ir.ReshapeAttrs{Shape: s}, x)
}

// Transpose reorders the axes: axis i of the result is axis perm[i] of x. Without perm the order is reversed.
func Transpose(x *Tensor, perm ...int) *Tensor {
	p := make([]int, x.Rank())
	for i := range p {
		p[i] = x.Rank() - 1 - i
		if len(perm) == len(p) {
			p[i] = x.Axis(perm[i])
		}
	}
	if len(perm) != 0 && len(perm) != len(p) {
		Failf(x.g, "transpose: %v is not an order of the %d axes of %v", perm, x.Rank(), x.Shape())
	}
	if slices.Equal(p, span(0, len(p))) {
		return x
	}
	return apply1(ir.Transpose, ir.TransposeAttrs{Perm: p}, x)
}

// BroadcastTo repeats x to the given shape under NumPy's rule.
func BroadcastTo(x *Tensor, shape ...int) *Tensor {
	if x.Shape().Equal(shape) {
		return x
	}
	s, err := ir.BroadcastShapes(x.Shape(), shape)
	if err != nil || !dim.ShapesMayEqual(s, shape) {
		Failf(x.g, "cannot broadcast %v to %v", x.Shape(), shape)
	}
	axes := make([]int, x.Rank())
	for i := range axes {
		axes[i] = len(shape) - x.Rank() + i
	}
	return apply1(ir.Broadcast, ir.BroadcastAttrs{Shape: slices.Clone(shape), Axes: axes}, x)
}

// ExpandDims inserts an axis of length 1 as axis number axis of the result.
func ExpandDims(x *Tensor, axis int) *Tensor {
	axis = normalizeAxis(x.g, axis, x.Rank()+1, x.Shape())
	return Reshape(x, slices.Insert(x.Shape().Clone(), axis, 1)...)
}

// Squeeze removes the given axes, which must have length 1; without axes, all axes of length 1.
func Squeeze(x *Tensor, axes ...int) *Tensor {
	drop := make([]int, 0, x.Rank())
	for i, d := range x.Shape() {
		if len(axes) == 0 && d == 1 {
			drop = append(drop, i)
		}
	}
	for _, a := range axes {
		a = x.Axis(a)
		if !dim.MayEqual(x.Shape()[a], 1) {
			Failf(x.g, "squeeze: axis %d of %v has length %d, not 1", a, x.Shape(), x.Shape()[a])
		}
		drop = append(drop, a)
	}
	return Reshape(x, x.Shape().Without(drop...)...)
}

// Slice takes elements start[i] to limit[i]-1 along each axis, as Go's slices do; keras.ops.slice takes lengths instead
// of limits.
func Slice(x *Tensor, start, limit []int) *Tensor {
	return StridedSlice(x, start, limit, ints.Repeat(1, x.Rank()))
}

// StridedSlice takes every stride[i]-th element from start[i] below limit[i] along each axis.
func StridedSlice(x *Tensor, start, limit, stride []int) *Tensor {
	return apply1(ir.Slice, ir.SliceAttrs{Start: slices.Clone(start), Limit: slices.Clone(limit), Stride: slices.Clone(stride)}, x)
}

// SliceAxis takes elements from start below limit along one axis.
func SliceAxis(x *Tensor, axis, start, limit int) *Tensor {
	axis = x.Axis(axis)
	low, high := make([]int, x.Rank()), x.Shape().Clone()
	low[axis], high[axis] = start, limit
	return Slice(x, low, high)
}

// Index takes element i along one axis and removes that axis; a negative i counts from the end.
func Index(x *Tensor, axis, i int) *Tensor {
	axis = x.Axis(axis)
	if n := x.Dim(axis); dim.Known(i) && i < 0 && dim.Less(dim.Add(n, i), 0) || dim.Less(n, dim.Add(i, 1)) {
		Failf(x.g, "position %d is outside axis %d of %v", i, axis, x.Shape())
	}
	if dim.Known(i) && i < 0 {
		i = dim.Add(i, x.Dim(axis))
	}
	return Squeeze(SliceAxis(x, axis, i, dim.Add(i, 1)), axis)
}

// checkParts fails if a tensor would be cut into more parts than a program may have operations.
func checkParts(x *Tensor, what string, parts int) {
	if parts > ir.MaxNodes { //dim:known parts are counted
		Failf(x.g, "%s: %d parts of %v; at most %d are possible", what, parts, x.Shape(), ir.MaxNodes)
	}
}

// Split cuts x along axis into parts of equal length.
func Split(x *Tensor, parts, axis int) []*Tensor {
	axis = x.Axis(axis)
	n := x.Dim(axis)
	if parts <= 0 || !dim.MayEqual(dim.Mod(n, parts), 0) {
		Failf(x.g, "split: axis %d of %v does not divide into %d equal parts", axis, x.Shape(), parts)
	}
	checkParts(x, "split", parts)
	out, part := make([]*Tensor, parts), dim.FloorDiv(n, parts)
	for i := range out {
		out[i] = SliceAxis(x, axis, dim.Mul(i, part), dim.Mul(i+1, part))
	}
	return out
}

// Pad adds low[i] and high[i] elements of the given value at the ends of each axis.
func Pad(x *Tensor, low, high []int, value float64) *Tensor {
	return PadWith(x, low, high, Scalar(x, value))
}

// PadWith is [Pad] with a scalar tensor as value; negative counts cut.
func PadWith(x *Tensor, low, high []int, value *Tensor) *Tensor {
	attrs := ir.PadAttrs{Low: slices.Clone(low), High: slices.Clone(high), Interior: make([]int, x.Rank())}
	return apply1(ir.Pad, attrs, x, Cast(value, x.DType()))
}

// Concatenate joins tensors along axis.
func Concatenate(axis int, xs ...*Tensor) *Tensor {
	if len(xs) == 0 {
		Failf(nil, "concatenate needs at least one tensor, received none")
	}
	d := xs[0].DType()
	for _, x := range xs {
		d = Promote(d, x.DType())
	}
	cast := make([]*Tensor, len(xs))
	for i, x := range xs {
		cast[i] = Cast(x, d)
	}
	if len(xs) == 1 {
		return cast[0]
	}
	return apply1(ir.Concat, ir.AxisAttrs{Axis: xs[0].Axis(axis)}, cast...)
}

// Stack joins tensors of one shape along a new axis.
func Stack(axis int, xs ...*Tensor) *Tensor {
	if len(xs) == 0 {
		Failf(nil, "stack needs at least one tensor, received none")
	}
	wide := make([]*Tensor, len(xs))
	for i, x := range xs {
		wide[i] = ExpandDims(x, axis)
	}
	return Concatenate(axis, wide...)
}

// Flip reverses the given axes; without axes, all.
func Flip(x *Tensor, axes ...int) *Tensor {
	return apply1(ir.Reverse, ir.AxesAttrs{Axes: allAxes(x, axes)}, x)
}

// allAxes returns sorted axes counted from the front; nil stands for all.
func allAxes(x *Tensor, axes []int) []int {
	out := make([]int, 0, x.Rank())
	for _, a := range axes {
		out = append(out, x.Axis(a))
	}
	if len(axes) == 0 {
		for i := range x.Rank() {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	for i := range len(out) - 1 {
		if out[i] == out[i+1] {
			Failf(x.g, "axes %v name axis %d of shape %v twice; name each axis once", axes, out[i], x.Shape())
		}
	}
	return out
}

func init() {
	rules[ir.Reshape] = func(c *vjp) []*Tensor { return []*Tensor{Reshape(c.dy(0), c.in(0).Shape()...)} }
	rules[ir.Transpose] = func(c *vjp) []*Tensor {
		return []*Tensor{Transpose(c.dy(0), ints.Inverse(c.node.Attrs.(ir.TransposeAttrs).Perm)...)}
	}
	rules[ir.Broadcast] = broadcastRule
	rules[ir.Slice] = sliceRule
	rules[ir.Pad] = padRule
	rules[ir.Concat] = func(c *vjp) []*Tensor {
		axis := c.node.Attrs.(ir.AxisAttrs).Axis
		grads := make([]*Tensor, len(c.node.Inputs))
		at := 0
		for i := range grads {
			n := c.in(i).Dim(axis)
			if c.needs(i) {
				grads[i] = SliceAxis(c.dy(0), axis, at, dim.Add(at, n))
			}
			at = dim.Add(at, n)
		}
		return grads
	}
	rules[ir.Reverse] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.Reverse, c.node.Attrs, c.dy(0))}
	}
}

func broadcastRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.BroadcastAttrs)
	x := c.in(0)
	var axes []int
	for i, d := range a.Shape {
		j := slices.Index(a.Axes, i)
		if j < 0 || x.Shape()[j] == 1 && d != 1 {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		return []*Tensor{Reshape(c.dy(0), x.Shape()...)}
	}
	return []*Tensor{Reshape(Sum(c.dy(0), axes...), x.Shape()...)}
}

// sliceRule puts the gradient back into its place among zeros.
func sliceRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.SliceAttrs)
	x, dy := c.in(0), c.dy(0)
	attrs := ir.PadAttrs{Low: a.Start, High: make([]int, x.Rank()), Interior: make([]int, x.Rank())}
	for i, d := range x.Shape() {
		n := dy.Shape()[i]
		attrs.Interior[i] = a.Stride[i] - 1 //dim:known strides are constants
		attrs.High[i] = dim.Sub(d, dim.Add(a.Start[i], n, dim.Mul(dim.Max(dim.Sub(n, 1), 0), attrs.Interior[i])))
	}
	return []*Tensor{apply1(ir.Pad, attrs, dy, Scalar(dy, 0))}
}

// padRule cuts the operand's elements out again; the rest belongs to the padding value.
func padRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.PadAttrs)
	x, dy := c.in(0), c.dy(0)
	inner := func() *Tensor {
		cut := ir.PadAttrs{Low: make([]int, x.Rank()), High: make([]int, x.Rank()), Interior: make([]int, x.Rank())}
		stride := make([]int, x.Rank())
		for i := range stride {
			cut.Low[i], cut.High[i] = dim.Sub(0, a.Low[i]), dim.Sub(0, a.High[i])
			stride[i] = a.Interior[i] + 1 //dim:known strides are constants
		}
		dx := apply1(ir.Pad, cut, dy, Scalar(dy, 0))
		return StridedSlice(dx, make([]int, x.Rank()), dx.Shape(), stride)
	}
	return c.each(inner, func() *Tensor { return Subtract(Sum(dy), Sum(inner())) })
}
