package stablehlo

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.AllReduce] = func(e *emitter, n *ir.Node, in []value) []value {
		a := e.collective(n)
		out := make([]value, len(in))
		for i, v := range in {
			out[i] = e.inWide(a.Kind, func(in []value) value {
				sum := e.allReduce(a, in[0])
				if a.Kind == ir.Mean {
					sum = e.binary("divide", sum, e.like(sum, float64(a.Size())))
				}
				return sum
			}, v)
		}
		return out
	}
	lowerings[ir.AllGather] = func(e *emitter, n *ir.Node, in []value) []value {
		a := e.collective(n)
		return []value{e.allGather(a, in[0], a.Axis)}
	}
	lowerings[ir.ReduceScatter] = func(e *emitter, n *ir.Node, in []value) []value {
		a := e.collective(n)
		return []value{e.inWide(a.Kind, func(in []value) value { return e.reduceScatter(a, in[0]) }, in[0])}
	}
	lowerings[ir.CollectiveBroadcast] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.fromRoot(e.collective(n), in[0])}
	}
	lowerings[ir.ReplicaID] = func(e *emitter, _ *ir.Node, _ []value) []value {
		t := ir.Type{DType: ir.Uint32}
		return []value{e.definef(t, "stablehlo.replica_id : %s", tensor(t))}
	}
}

// collective checks that a collective spans the replicas of the module.
func (e *emitter) collective(n *ir.Node) ir.CollectiveAttrs {
	a := n.Attrs.(ir.CollectiveAttrs)
	if a.Replicas != e.replicas {
		e.failf("op %v spans %d replicas, the module is for %d", n.Op, a.Replicas, e.replicas)
	}
	return a
}

// groups is the attribute that lists the groups of replicas that meet.
func (e *emitter) groups(a ir.CollectiveAttrs) string {
	lists := a.Groups
	if lists == nil {
		all, _ := a.Group(0)
		lists = [][]int{all}
	}
	all := make([]string, len(lists))
	for i, l := range lists {
		all[i] = list(l)
	}
	return fmt.Sprintf("replica_groups = dense<[%s]> : tensor<%dx%dxi64>", strings.Join(all, ", "), len(lists), a.Size())
}

func (e *emitter) allReduce(a ir.CollectiveAttrs, x value) value {
	return e.general("all_reduce", []value{x}, e.groups(a), e.combine(a.Kind, x.dtype()), []ir.Type{x.typ})[0]
}

func (e *emitter) allGather(a ir.CollectiveAttrs, x value, axis int) value {
	t := ir.Type{DType: x.dtype(), Shape: x.shape().Clone()}
	t.Shape[axis] *= a.Size()
	return e.general("all_gather", []value{x}, fmt.Sprintf("all_gather_dim = %d : i64, %s", axis, e.groups(a)), "", []ir.Type{t})[0]
}

func (e *emitter) reduceScatter(a ir.CollectiveAttrs, x value) value {
	t := ir.Type{DType: x.dtype(), Shape: x.shape().Clone()}
	t.Shape[a.Axis] /= a.Size()
	sum := e.general("reduce_scatter", []value{x}, fmt.Sprintf("%s, scatter_dimension = %d : i64", e.groups(a), a.Axis), e.combine(a.Kind, x.dtype()), []ir.Type{t})[0]
	if a.Kind == ir.Mean {
		sum = e.binary("divide", sum, e.like(sum, float64(a.Size())))
	}
	return sum
}

// fromRoot gathers the values of all replicas that meet and keeps the root's, bit by bit, because few backends
// implement StableHLO's own broadcast.
func (e *emitter) fromRoot(a ir.CollectiveAttrs, x value) value {
	shape := x.shape()
	all := e.allGather(a, e.reshape(x, append([]int{1}, shape...)...), 0)
	start, limit := make([]int, len(shape)+1), append([]int{a.Root + 1}, shape...)
	start[0] = a.Root
	return e.reshape(e.slice(all, start, limit, ones(len(start))), shape...)
}
