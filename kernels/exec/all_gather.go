package exec

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// gatherCall is what one trace contributes to an AllGather.
type gatherCall struct {
	typ  ir.Type
	axis int
}

// AllGather joins the replicas' tensors along axis in replica order; every replica gets the result. They may differ in
// the length of axis. The gradient of a replica's part is the sum of the gradients that all replicas have for it.
//
// Shapes are static, so a replica must know the others' lengths while it is traced. If the lengths turn out to differ,
// the replicas are traced again.
func (r *Replica) AllGather(x *ops.Tensor, axis int) *ops.Tensor {
	r.inReplica("AllGather")
	return r.allGather(x, axis)
}

func (r *Replica) allGather(x *ops.Tensor, axis int) *ops.Tensor {
	if x.Rank() == 0 {
		ops.Failf(r.graph, "a scalar has no axis to be joined along; give it one with ExpandDims, or use AllReduce")
	}
	if r.replicas == 1 {
		x.Axis(axis)
		return x
	}
	return ops.Concatenate(x.Axis(axis), r.gatherParts(x, axis)...)
}

// gatherParts returns the tensors of all replicas.
func (r *Replica) gatherParts(x *ops.Tensor, axis int) []*ops.Tensor {
	axis = x.Axis(axis)
	k := len(r.gathers)
	r.gathers = append(r.gathers, gatherCall{x.Type(), axis})
	length := x.Dim(axis)
	var lengths []int
	if k < len(r.lengths) {
		lengths = r.lengths[k]
	}
	if lengths == nil {
		return []*ops.Tensor{ops.AllGather(x, axis, r.replicas)}
	}
	longest := slices.Max(lengths)
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	high[axis] = max(longest-length, 0)
	whole := ops.AllGather(ops.Pad(x, low, high, 0), axis, r.replicas)
	parts := make([]*ops.Tensor, len(lengths))
	for i, n := range lengths {
		parts[i] = ops.SliceAxis(whole, axis, i*longest, i*longest+n)
	}
	return parts
}

// gatherLengths determines what the replicas must know about each other's AllGathers: for each call the lengths by
// replica, or nil if they are equal.
func gatherLengths(replicas [][]gatherCall) ([][]int, error) {
	calls := len(replicas[0])
	for _, list := range replicas {
		calls = min(calls, len(list))
	}
	var out [][]int
	for k := range calls {
		first := replicas[0][k]
		lengths, same := make([]int, len(replicas)), true
		for i, list := range replicas {
			c := list[k]
			if c.axis != first.axis {
				return nil, fmt.Errorf("all_gather %d: replica 0 joins along axis %d, replica %d along axis %d; all replicas must make the same calls", k, first.axis, i, c.axis)
			}
			if len(c.typ.Shape) <= first.axis {
				return nil, fmt.Errorf("all_gather %d: replica %d: %v has no axis %d", k, i, c.typ, first.axis)
			}
			if err := CheckJoins(first.typ, c.typ, first.axis); err != nil {
				return nil, fmt.Errorf("all_gather %d: replica %d: %w", k, i, err)
			}
			lengths[i] = c.typ.Shape[first.axis]
			same = same && lengths[i] == lengths[0]
		}
		if same {
			lengths = nil
		}
		out = append(out, lengths)
	}
	for len(out) > 0 && out[len(out)-1] == nil {
		out = out[:len(out)-1]
	}
	return out, nil
}

// CheckJoins reports why values of two types cannot be joined along axis.
func CheckJoins(first, other ir.Type, axis int) error {
	same := other.DType == first.DType && len(other.Shape) == len(first.Shape) && other.Shape[:axis].Equal(first.Shape[:axis]) && other.Shape[axis+1:].Equal(first.Shape[axis+1:])
	if !same {
		return fmt.Errorf("%v cannot be joined with %v of replica 0; only the length of axis %d may differ", other, first, axis)
	}
	return nil
}
