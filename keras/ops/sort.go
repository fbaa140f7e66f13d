package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Sort returns the elements along axis in ascending order; NaN comes last.
func Sort(x *Tensor, axis int) *Tensor {
	return apply(ir.Sort, ir.SortAttrs{Axis: x.Axis(axis)}, x)[0]
}

// Argsort returns the int32 positions that sort x along axis in ascending order; equal elements keep their order, NaN
// comes last.
func Argsort(x *Tensor, axis int) *Tensor {
	return apply(ir.Sort, ir.SortAttrs{Axis: x.Axis(axis)}, x)[1]
}

// partitioned returns the elements along axis and their positions as Sort and Argsort do, but only the positions kth
// need to hold the sorted elements. Negative kth count from the end.
func partitioned(x *Tensor, axis int, kth ...int) (values, positions *Tensor) {
	a := ir.SortAttrs{Axis: x.Axis(axis)}
	if n := x.Dim(a.Axis); dim.Known(n) {
		for _, k := range kth {
			if k < 0 { //dim:known
				k += n //dim:known
			}
			a.Kth = append(a.Kth, k)
		}
		slices.Sort(a.Kth)
		a.Kth = slices.Compact(a.Kth)
	}
	out := apply(ir.Sort, a, x)
	return out[0], out[1]
}

// TopK returns the k largest elements along the last axis, largest first, and their int32 positions. Of equal elements
// the first comes first; NaN counts as largest.
func TopK(x *Tensor, k int) (values, indices *Tensor) {
	out := apply(ir.TopK, ir.TopKAttrs{K: k}, x)
	return out[0], out[1]
}

// InTopK returns for each row of predictions (batch, classes) whether fewer than k classes score higher than the target
// class numbers. A target whose score is NaN counts as the lowest; NaN scores of other classes count as not higher.
func InTopK(targets, predictions *Tensor, k int) *Tensor {
	score := TakeAlongAxis(predictions, ExpandDims(targets, -1), -1)
	score = Where(Isnan(score), FullLike(score, neutralElement(ir.Max)), score)
	rank := Sum(Cast(Greater(predictions, score), ir.Int32), -1)
	return CompareScalar(ir.Lt, rank, float64(k))
}

func init() {
	rules[ir.Sort] = func(c *vjp) []*Tensor {
		if c.dys[0] == nil {
			return zeroGradient(c)
		}
		return []*Tensor{putAlong(c.in(0).Shape(), c.out(1), c.dy(0), c.node.Attrs.(ir.SortAttrs).Axis)}
	}
	rules[ir.TopK] = func(c *vjp) []*Tensor {
		if c.dys[0] == nil {
			return zeroGradient(c)
		}
		return []*Tensor{putAlong(c.in(0).Shape(), c.out(1), c.dy(0), c.in(0).Rank()-1)}
	}
}
