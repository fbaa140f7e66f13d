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
				sum := e.allReduce(a.Kind, in[0])
				if a.Kind == ir.Mean {
					sum = e.binary("divide", sum, e.like(sum, float64(a.Replicas)))
				}
				return sum
			}, v)
		}
		return out
	}
	lowerings[ir.AllGather] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.allGather(in[0], e.collective(n).Axis)}
	}
	lowerings[ir.ReduceScatter] = func(e *emitter, n *ir.Node, in []value) []value {
		a := e.collective(n)
		return []value{e.inWide(a.Kind, func(in []value) value { return e.reduceScatter(a, in[0]) }, in[0])}
	}
	lowerings[ir.CollectiveBroadcast] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.fromRoot(in[0], e.collective(n).Root)}
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

// group is the attribute that lists the replicas.
func (e *emitter) group() string {
	all := make([]string, e.replicas)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return fmt.Sprintf("replica_groups = dense<[[%s]]> : tensor<1x%dxi64>", strings.Join(all, ", "), e.replicas)
}

func (e *emitter) allReduce(kind ir.Kind, x value) value {
	return e.general("all_reduce", []value{x}, e.group(), e.combine(kind, x.dtype()), []ir.Type{x.typ})[0]
}

func (e *emitter) allGather(x value, axis int) value {
	t := ir.Type{DType: x.dtype(), Shape: x.shape().Clone()}
	t.Shape[axis] *= e.replicas
	return e.general("all_gather", []value{x}, fmt.Sprintf("all_gather_dim = %d : i64, %s", axis, e.group()), "", []ir.Type{t})[0]
}

func (e *emitter) reduceScatter(a ir.CollectiveAttrs, x value) value {
	t := ir.Type{DType: x.dtype(), Shape: x.shape().Clone()}
	t.Shape[a.Axis] /= e.replicas
	sum := e.general("reduce_scatter", []value{x}, fmt.Sprintf("%s, scatter_dimension = %d : i64", e.group(), a.Axis), e.combine(a.Kind, x.dtype()), []ir.Type{t})[0]
	if a.Kind == ir.Mean {
		sum = e.binary("divide", sum, e.like(sum, float64(a.Replicas)))
	}
	return sum
}

// fromRoot gathers the values of all replicas and keeps the root's, bit by bit; few backends have StableHLO's own
// broadcast.
func (e *emitter) fromRoot(x value, root int) value {
	shape := x.shape()
	all := e.allGather(e.reshape(x, append([]int{1}, shape...)...), 0)
	start, limit := make([]int, len(shape)+1), append([]int{root + 1}, shape...)
	start[0] = root
	return e.reshape(e.slice(all, start, limit, ones(len(start))), shape...)
}
