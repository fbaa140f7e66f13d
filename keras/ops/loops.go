package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"slices"
)

// ForiLoop runs body for i = low ... high-1 on the carried tensors and returns the last ones. The number of steps is
// known, so it is a [Scan] and differentiable; i is an int32 scalar.
func ForiLoop(low, high int, body func(i *Tensor, state []*Tensor) []*Tensor, state ...*Tensor) []*Tensor {
	g := graphOf(state...)
	if g == nil {
		Failf(nil, "fori_loop: needs at least one state tensor, received none")
	}
	needFunctions(g, "fori_loop", body != nil)
	steps := AddScalar(Arange(g, ir.Int32, dim.Max(dim.Sub(high, low), 0)), float64(low)) //dim:known loops begin at constants
	final, _ := traceScan("fori_loop", g.current(), func(carry, xs []*Tensor) (next, ys []*Tensor) {
		return body(xs[0], carry), nil
	}, state, []*Tensor{steps}, ScanOptions{}).add()
	return final
}

// Map runs f on each slice of xs along axis 0, one after the other, and stacks the results along a new axis 0. It needs
// the memory of one slice at a time; [VectorizedMap] computes all slices at once, which is faster.
func Map(f func(xs []*Tensor) []*Tensor, xs ...*Tensor) []*Tensor {
	_, ys := traceMap("map", f, xs).add()
	return ys
}

// traceMap traces a function of one slice of xs as the body of a loop for the operation what.
func traceMap(what string, f func(xs []*Tensor) []*Tensor, xs []*Tensor) *tracedScan {
	g := graphOf(xs...)
	needFunctions(g, what, f != nil)
	if g == nil {
		Failf(nil, "%s: needs at least one tensor, received none", what)
	}
	return traceScan(what, g.current(), func(_, xs []*Tensor) (next, ys []*Tensor) { return nil, f(xs) }, nil, xs, ScanOptions{})
}

// AssociativeScan combines the slices of x along axis with f, which must be associative: result i is x0·x1·…·xi. f
// works on whole parts of x at once. With reverse it runs from the end.
func AssociativeScan(f func(a, b *Tensor) *Tensor, x *Tensor, axis int, reverse bool) *Tensor {
	needFunctions(graphOf(x), "associative_scan", f != nil)
	axis = x.Axis(axis)
	if reverse {
		return Flip(AssociativeScan(f, Flip(x, axis), axis, false), axis)
	}
	n := x.Dim(axis)
	Fixed(x, "an associative scan", n)
	return associativeScan(f, x, axis, n)
}

// associativeScan combines neighbours, scans the results, which are half as many, and combines the results of that with
// the elements in between. The order is that of Keras, with two calls of f for each slice.
//
//dim:known n is a constant
func associativeScan(f func(a, b *Tensor) *Tensor, x *Tensor, axis, n int) *Tensor {
	if n < 2 {
		return x
	}
	even, odd := (n+1)/2, n/2
	evens, odds := everySecond(x, axis, 0, n), everySecond(x, axis, 1, n)
	ends := associativeScan(f, f(SliceAxis(evens, axis, 0, odd), odds), axis, odd)
	parts := []*Tensor{SliceAxis(x, axis, 0, 1)}
	if even > 1 {
		before := SliceAxis(ends, axis, 0, even-1)
		parts = append(parts, mergeAxes(Stack(axis+1, before, f(before, SliceAxis(evens, axis, 1, even))), axis))
	}
	if even == odd {
		parts = append(parts, SliceAxis(ends, axis, odd-1, odd))
	}
	return Concatenate(axis, parts...)
}

// everySecond returns the slices at first, first+2, ... of the n along an axis.
//
//dim:known n is a constant
func everySecond(x *Tensor, axis, first, n int) *Tensor {
	starts, limits, steps := make([]int, x.Rank()), slices.Clone(x.Shape()), slices.Repeat([]int{1}, x.Rank())
	starts[axis], limits[axis], steps[axis] = first, n, 2
	return StridedSlice(x, starts, limits, steps)
}

// mergeAxes makes one axis of an axis and the next one.
func mergeAxes(x *Tensor, axis int) *Tensor {
	shape := slices.Clone(x.Shape())
	shape[axis] = dim.Mul(shape[axis], shape[axis+1])
	return Reshape(x, slices.Delete(shape, axis+1, axis+2)...)
}

// Switch runs branches[i] on the operands and returns its results. i is an integer scalar, clamped to the range. All
// branches return tensors of the same types.
func Switch(i *Tensor, branches []func(xs []*Tensor) []*Tensor, xs ...*Tensor) []*Tensor {
	if slices.ContainsFunc(branches, func(f func([]*Tensor) []*Tensor) bool { return f == nil }) {
		Failf(i.Graph(), "switch: a branch is nil")
	}
	switch len(branches) {
	case 0:
		Failf(i.Graph(), "switch: needs at least one branch, received none")
	case 1:
		return branches[0](xs)
	}
	half := len(branches) / 2
	return Cond(CompareScalar(ir.Lt, i, float64(half)),
		func() []*Tensor { return Switch(i, branches[:half], xs...) },
		func() []*Tensor { return Switch(SubtractScalar(i, float64(half)), branches[half:], xs...) })
}
