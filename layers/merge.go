package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// mergeInputs checks the inputs of a merging layer and gives them the same rank by inserting axes of length 1 after the
// batch.
func mergeInputs(c *Context, in []*ops.Tensor) []*ops.Tensor {
	rank, batch := 0, 1
	for _, x := range in {
		rank = max(rank, x.Rank())
		if x.Rank() > 0 && batch == 1 {
			batch = x.Dim(0)
		}
		if x.Rank() == 0 || !dim.MayEqual(x.Dim(0), batch) && x.Dim(0) != 1 { // a constant may have one row for all
			ops.Failf(c.Graph(), "expected inputs with one batch size, received shapes %v", shapesOf(in))
		}
	}
	out := slices.Clone(in)
	for i, x := range out {
		for x.Rank() < rank {
			x = ops.ExpandDims(x, 1)
		}
		out[i] = x
		for j, d := range x.Shape() {
			if e := longest(out[:i+1], j); !dim.MayEqual(d, e) && d != 1 {
				ops.Failf(c.Graph(), "expected inputs of shapes that broadcast to each other, received %v; axis %d has lengths %d and %d", shapesOf(in), j, e, d)
			}
		}
	}
	return out
}

// longest returns the length of an axis that is not 1, if there is one.
func longest(xs []*ops.Tensor, axis int) int {
	for _, x := range xs {
		if d := x.Dim(axis); d != 1 {
			return d
		}
	}
	return 1
}

func shapesOf(xs []*ops.Tensor) []string {
	shapes := make([]string, len(xs))
	for i, x := range xs {
		shapes[i] = x.Shape().String()
	}
	return shapes
}

// fold combines the inputs of a merging layer from left to right.
func fold(c *Context, in []*ops.Tensor, combine func(a, b *ops.Tensor) *ops.Tensor) *ops.Tensor {
	in = mergeInputs(c, in)
	y := in[0]
	for _, x := range in[1:] {
		y = combine(y, x)
	}
	return y
}

// featureMask broadcasts the mask of x, which lacks the last axis, to x; nil if x has none.
func featureMask(x *ops.Tensor) *ops.Tensor {
	if x.Mask() == nil {
		return nil
	}
	return ops.BroadcastTo(ops.ExpandDims(x.Mask(), -1), x.Shape()...)
}

// foldMasked combines the inputs from left to right; where one of the two is masked, the value of the other one is
// taken.
func foldMasked(c *Context, in []*ops.Tensor, combine func(a, b *ops.Tensor) *ops.Tensor) *ops.Tensor {
	in = mergeInputs(c, in)
	y, yMask := in[0], featureMask(in[0])
	for _, x := range in[1:] {
		mask := featureMask(x)
		if mask != nil {
			x = ops.Where(mask, x, y)
		}
		if yMask != nil {
			y = ops.Where(yMask, y, x)
		}
		if mask != nil && yMask != nil {
			yMask = ops.LogicalOr(yMask, mask)
		} else {
			yMask = nil
		}
		y = combine(y, x)
	}
	return y
}

// anyMask returns the mask of a merged result: true where any input's mask is, or no mask if an input has none.
func anyMask(inputs []*ops.Tensor) []*ops.Tensor {
	var out *ops.Tensor
	for i, x := range inputs {
		switch {
		case x.Mask() == nil:
			return []*ops.Tensor{nil}
		case i == 0:
			out = x.Mask()
		default:
			out = ops.LogicalOr(out, x.Mask())
		}
	}
	return []*ops.Tensor{out}
}
