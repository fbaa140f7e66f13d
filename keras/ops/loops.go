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
	final, _ := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		return body(xs[0], carry), nil
	}, state, []*Tensor{steps}, ScanOptions{})
	return final
}

// Map runs f on each slice of xs along axis 0, one after the other, and stacks the results along a new axis 0. It needs
// the memory of one slice at a time; a function that works on the whole tensors at once is faster.
func Map(f func(xs []*Tensor) []*Tensor, xs ...*Tensor) []*Tensor {
	needFunctions(graphOf(xs...), "map", f != nil)
	_, ys := Scan(func(_, xs []*Tensor) (next, ys []*Tensor) { return nil, f(xs) }, nil, xs, ScanOptions{})
	return ys
}

// AssociativeScan combines the slices of x along axis with f, which must be associative: result i is x0·x1·…·xi. f
// works on whole parts of x at once. With reverse it runs from the end.
func AssociativeScan(f func(a, b *Tensor) *Tensor, x *Tensor, axis int, reverse bool) *Tensor {
	needFunctions(graphOf(x), "associative_scan", f != nil)
	axis = x.Axis(axis)
	if reverse {
		return Flip(AssociativeScan(f, Flip(x, axis), axis, false), axis)
	}
	// Kogge, Stone, 1973: after the step of distance d each element covers the 2d slices that end in it.
	n := x.Dim(axis)
	Fixed(x, "an associative scan", n)
	for d := 1; d < n; d *= 2 { //dim:known
		head := SliceAxis(x, axis, 0, d)
		x = Concatenate(axis, head, f(SliceAxis(x, axis, 0, n-d), SliceAxis(x, axis, d, n))) //dim:known
	}
	return x
}

// Switch runs branches[i] on the operands, i being an integer scalar that is clamped to the range, and returns its
// results; all branches return tensors of the same types.
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
