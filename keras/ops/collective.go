package ops

import "github.com/gokeras/gokeras/kernels/ir"

// AllReduce combines each tensor with its counterparts in all replicas (ir.Sum, ir.Mean, ir.Max, ir.Min) and gives
// every replica the result. bucket groups the all-reduces that a backend launches together. With one replica the
// tensors are returned unchanged.
//
// The gradient treats the replicas' targets as one. The gradient of a sum is the sum of the replicas' gradients, that
// of a mean is their mean, and that of a maximum goes to the replicas that hold the maximum, in equal shares.
func AllReduce(kind ir.Kind, replicas, bucket int, xs ...*Tensor) []*Tensor {
	if replicas == 1 || len(xs) == 0 {
		return append([]*Tensor{}, xs...)
	}
	return apply(ir.AllReduce, ir.CollectiveAttrs{Kind: kind, Replicas: replicas, Bucket: bucket}, xs...)
}

// AllReduceGroups is AllReduce within groups. groups lists the replicas of each group: every replica is in one group,
// and all groups have the same length. A replica gets the values of its group, combined in the order of the group.
func AllReduceGroups(kind ir.Kind, replicas int, groups [][]int, xs ...*Tensor) []*Tensor {
	if len(xs) == 0 {
		return []*Tensor{}
	}
	return reduceAlike(ir.CollectiveAttrs{Kind: kind, Replicas: replicas, Groups: groups}, xs)
}

// AllGatherGroups joins the tensors of the replicas of a group along axis; see [AllReduceGroups].
func AllGatherGroups(x *Tensor, axis, replicas int, groups [][]int) *Tensor {
	return apply1(ir.AllGather, ir.CollectiveAttrs{Axis: x.Axis(axis), Replicas: replicas, Groups: groups}, x)
}

// reduceAlike is an all-reduce among the same replicas as another collective.
func reduceAlike(a ir.CollectiveAttrs, xs []*Tensor) []*Tensor { return apply(ir.AllReduce, a, xs...) }

// AllGather joins the tensors of all replicas along axis, in replica order, and gives every replica the result.
func AllGather(x *Tensor, axis, replicas int) *Tensor {
	axis = x.Axis(axis)
	if replicas == 1 {
		return x
	}
	return apply1(ir.AllGather, ir.CollectiveAttrs{Axis: axis, Replicas: replicas}, x)
}

// ReduceScatter combines the tensors of all replicas and gives replica i part i of equal parts along axis.
func ReduceScatter(kind ir.Kind, x *Tensor, axis, replicas int) *Tensor {
	axis = x.Axis(axis)
	if replicas == 1 {
		return x
	}
	return apply1(ir.ReduceScatter, ir.CollectiveAttrs{Kind: kind, Axis: axis, Replicas: replicas}, x)
}

// CollectiveBroadcast gives every replica the tensor of replica root.
func CollectiveBroadcast(x *Tensor, root, replicas int) *Tensor {
	if replicas == 1 {
		return x
	}
	return apply1(ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: root, Replicas: replicas}, x)
}

// ReplicaID returns the number of the replica that runs the program, a uint32 scalar that counts from 0.
func ReplicaID(t Traced, replicas int) *Tensor {
	return graphFor(t).add(ir.ReplicaID, ir.CollectiveAttrs{Replicas: replicas})[0]
}

func init() {
	rules[ir.ReplicaID] = zeroGradient
	rules[ir.AllReduce] = allReduceRule
	rules[ir.AllGather] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.CollectiveAttrs)
		a.Kind = ir.Sum
		return []*Tensor{apply1(ir.ReduceScatter, a, c.dy(0))}
	}
	rules[ir.ReduceScatter] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.CollectiveAttrs)
		if a.Kind != ir.Sum && a.Kind != ir.Mean {
			Failf(c.r.g, "reduce-scatter of kind %q has no gradient; only sum and mean do", a.Kind)
		}
		dx := apply1(ir.AllGather, ir.CollectiveAttrs{Axis: a.Axis, Replicas: a.Replicas, Groups: a.Groups}, c.dy(0))
		if a.Kind == ir.Mean {
			dx = DivideScalar(dx, float64(a.Size()))
		}
		return []*Tensor{dx}
	}
	rules[ir.CollectiveBroadcast] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.CollectiveAttrs)
		total := reduceAlike(ir.CollectiveAttrs{Kind: ir.Sum, Replicas: a.Replicas, Groups: a.Groups}, []*Tensor{c.dy(0)})[0]
		id := ReplicaID(total, a.Replicas)
		isRoot := CompareScalar(ir.Eq, id, float64(a.Root))
		if a.Groups != nil {
			isRoot = CompareScalar(ir.Eq, id, float64(a.Groups[0][a.Root]))
			for _, g := range a.Groups[1:] {
				isRoot = LogicalOr(isRoot, CompareScalar(ir.Eq, id, float64(g[a.Root])))
			}
		}
		return []*Tensor{Where(isRoot, total, ZerosLike(total))}
	}
}

// allReduceRule reduces only the gradients that exist; all replicas trace the same program, so they agree on which.
func allReduceRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.CollectiveAttrs)
	grads := make([]*Tensor, len(c.node.Inputs))
	var which []int
	var dys []*Tensor
	for i, dy := range c.dys {
		if dy != nil && c.needs(i) {
			which, dys = append(which, i), append(dys, dy)
		}
	}
	if len(dys) == 0 {
		return grads
	}
	if a.Kind == ir.Sum || a.Kind == ir.Mean {
		for j, dx := range reduceAlike(a, dys) {
			grads[which[j]] = dx
		}
		return grads
	}
	hits := make([]*Tensor, len(dys))
	for j, i := range which {
		hits[j] = Cast(Equal(c.in(i), c.out(i)), dys[j].DType())
	}
	a.Kind = ir.Sum
	totals := reduceAlike(a, append(dys, hits...))
	for j, i := range which {
		grads[i] = Multiply(hits[j], Divide(totals[j], totals[len(which)+j]))
	}
	return grads
}
