package exec

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// CrossReplica is what the function of a MergeCall works with: code that runs once for all replicas. A tensor in it
// stands for one value on each replica or, if it came from Reduce, Gather or Broadcast, for one value that all share.
type CrossReplica struct{ r *Replica }

// MergeCall joins the replicas: f is called with the replicas' values in cross-replica context, and its results go back
// to every replica. A result that is one value for all, such as that of Reduce, is the same on each; one that stands
// for a value on each replica is split again. All replicas must make the same calls in the same order.
//
// Gradients flow through it.
func (r *Replica) MergeCall(f func(c *CrossReplica, values ...*ops.Tensor) []*ops.Tensor, values ...*ops.Tensor) []*ops.Tensor {
	r.inReplica("MergeCall")
	r.merges++
	r.cross = true
	defer func() { r.cross = false }()
	return f(&CrossReplica{r}, values...)
}

// inCross fails outside the function of a MergeCall.
func (c *CrossReplica) inCross(what string) {
	if !c.r.cross {
		ops.Failf(c.r.graph, "%s requires being in cross-replica context; call it inside the function of MergeCall", what)
	}
}

// Strategy returns the strategy.
func (c *CrossReplica) Strategy() Strategy { return c.r.strategy }

// NumReplicasInSync is the number of replicas.
func (c *CrossReplica) NumReplicasInSync() int { return c.r.replicas }

// Reduce combines the replicas' values elementwise by Sum or Mean.
func (c *CrossReplica) Reduce(op ReduceOp, values ...*ops.Tensor) []*ops.Tensor {
	c.inCross("Reduce")
	return c.r.allReduce(c.r.reduceKind(op), values...)
}

// Gather joins the replicas' values along axis, in replica order. They may differ in the length of axis.
func (c *CrossReplica) Gather(value *ops.Tensor, axis int) *ops.Tensor {
	c.inCross("Gather")
	return c.r.allGather(value, axis)
}

// Broadcast returns the value of one replica.
func (c *CrossReplica) Broadcast(value *ops.Tensor, replica int) *ops.Tensor {
	c.inCross("Broadcast")
	return ops.CollectiveBroadcast(value, replica, c.r.replicas)
}

// Update calls f for each copy of the variable, with the values that belong to its replica.
func (c *CrossReplica) Update(v *Variable, f func(u *Component, values ...*ops.Tensor) *ops.Tensor, values ...*ops.Tensor) *ops.Tensor {
	c.inCross("Update")
	return f(c.r.ComponentOf(v), values...)
}

// Assign gives all copies of a variable the same value; see [Variable.Assign].
func (c *CrossReplica) Assign(v *Variable, value *ops.Tensor) {
	c.inCross("Assign")
	if v.spec.Synchronization == OnRead && c.r.replicas > 1 && !c.r.isCentral(v) {
		switch v.spec.Aggregation {
		case None:
			ops.Failf(c.r.graph, "variable %s is synchronized on read but has the aggregation None, so it cannot be assigned across replicas; give it Sum, Mean or OnlyFirstReplica", v.Path())
		case Sum:
			value = ops.DivideScalar(value, float64(c.r.replicas))
		}
	}
	c.r.AssignMirrored(v, value)
}

// Read returns the variable's value in cross-replica context: the combined value, if it is synchronized on read.
func (c *CrossReplica) Read(v *Variable) *ops.Tensor {
	c.inCross("Read")
	if v.spec.Synchronization == OnRead && v.spec.Aggregation == None && c.r.replicas > 1 {
		ops.Failf(c.r.graph, "variable %s is synchronized on read but has the aggregation None, so its copies have no common value; give it Sum, Mean or OnlyFirstReplica", v.Path())
	}
	return c.r.ReadSynchronized(v)
}

// NewCrossFunction prepares code that runs on every replica in cross-replica context, as the function of a
// [Replica.MergeCall] does: nothing that it assigns is combined. It may return nil.
func NewCrossFunction(s Strategy, name string, f func(r *Replica, in []*ops.Tensor) *ops.Tensor) *Function {
	return NewFunction(s, name, func(r *Replica, in []*ops.Tensor) []*ops.Tensor {
		r.cross = true
		var out *ops.Tensor
		guarded(r, func() { out = f(r, in) })
		if out == nil {
			return nil
		}
		return []*ops.Tensor{out}
	})
}
