package exec

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// combinesOnWrite reports whether the values of the replicas are combined when the variable is written.
func (r *Replica) combinesOnWrite(v *Variable) bool {
	return v.spec.Synchronization != OnRead || r.isCentral(v)
}

func (r *Replica) isCentral(v *Variable) bool { return placementOf(r.strategy).isCentral(v) }

// Assign gives the variable a new value from this point of the trace on. A mirrored variable with an aggregation gets
// the combined value on all replicas; without one each replica writes its own copy, so every replica must compute the
// same value. A variable that is synchronized on read keeps a value on each replica. With central storage the single
// copy gets the combined value; there it is an error to have no aggregation.
func (r *Replica) Assign(v *Variable, value *ops.Tensor) {
	r.set(v, r.combined(v, r.fitting(v, value)))
}

// AssignAdd adds delta to the variable; see [Replica.Assign]. If values are combined, the combined delta is added.
func (r *Replica) AssignAdd(v *Variable, delta *ops.Tensor) {
	r.move(v, ops.Add(r.Read(v), ops.Cast(r.combined(v, delta), v.spec.DType)))
}

// AssignSub subtracts delta; see [Replica.AssignAdd].
func (r *Replica) AssignSub(v *Variable, delta *ops.Tensor) {
	r.move(v, ops.Subtract(r.Read(v), ops.Cast(r.combined(v, delta), v.spec.DType)))
}

// AssignMirrored gives the variable a value that all replicas already share, such as one computed from sums over the
// replicas. Nothing is combined. Optimizers use it; it corresponds to an assignment in cross-replica context.
func (r *Replica) AssignMirrored(v *Variable, value *ops.Tensor) { r.set(v, value) }

// AssignDifferentiable is AssignMirrored with gradients: they flow through the value to what it was computed from. So a
// layer that replaces a weight by a function of it, as SpectralNormalization does, is trained through that function, as
// if variables were arguments and results of functions.
func (r *Replica) AssignDifferentiable(v *Variable, value *ops.Tensor) {
	r.bind(v, r.fitting(v, value))
}

// AssignConstant is Assign of a number that is the same on all replicas. It is not distributed, so with several
// replicas the aggregation Sum refuses it: the sum would depend on their number.
func (r *Replica) AssignConstant(v *Variable, value kernels.Array) {
	r.Assign(v, r.constant(v, value))
}

// AssignAddConstant is AssignAdd of a number that is the same on all replicas; see [Replica.AssignConstant].
func (r *Replica) AssignAddConstant(v *Variable, delta kernels.Array) {
	r.AssignAdd(v, r.constant(v, delta))
}

// AssignSubConstant is AssignSub of a number that is the same on all replicas; see [Replica.AssignConstant].
func (r *Replica) AssignSubConstant(v *Variable, delta kernels.Array) {
	r.AssignSub(v, r.constant(v, delta))
}

func (r *Replica) constant(v *Variable, a kernels.Array) *ops.Tensor {
	if r.replicas > 1 && v.spec.Aggregation == Sum && r.combinesOnWrite(v) {
		ops.Failf(r.graph, "a value %v that is not distributed cannot be summed over %d replicas, as the aggregation of variable %s asks; assign it outside replica code, or use OnlyFirstReplica", a.Type, r.replicas, v.Path())
	}
	return ops.Constant(r, a.Type.DType, a.Type.Shape, a.Float64s())
}

// fitting returns the value in the variable's type.
func (r *Replica) fitting(v *Variable, value *ops.Tensor) *ops.Tensor {
	r.needVariable(v)
	if value == nil {
		ops.Failf(r.graph, "variable %s cannot be assigned nil", v.Path())
	}
	if value.Graph() != r.graph {
		ops.Failf(value.Graph(), "variable %s cannot be assigned inside a loop or branch; hand the value out of it first", v.Path())
	}
	value = ops.Cast(value, v.spec.DType)
	if !value.Shape().Equal(v.spec.Shape) {
		ops.Failf(r.graph, "variable %s has shape %v and cannot be assigned a value of shape %v", v.Path(), v.spec.Shape, value.Shape())
	}
	return value
}

// combined combines the replicas' values if writing the variable requires it.
func (r *Replica) combined(v *Variable, value *ops.Tensor) *ops.Tensor {
	if !r.combinesOnWrite(v) {
		return value
	}
	r.needsAggregation(v)
	return r.aggregate(v, value)
}

// needsAggregation fails if replicas write a single copy and nothing says how to combine their values.
func (r *Replica) needsAggregation(v *Variable) {
	if r.replicas > 1 && v.spec.Aggregation == None && r.isCentral(v) {
		ops.Failf(r.graph, "variable %s (made at %s) has one copy for %d replicas, so it needs an aggregation to be assigned in replica context; set VariableSpec.Aggregation, or use AssignMirrored for what all replicas share", v.Path(), v.site, r.replicas)
	}
}

// set makes value the variable's value from here on, without a gradient.
func (r *Replica) set(v *Variable, value *ops.Tensor) {
	value = ops.StopGradient(r.fitting(v, value))
	r.entry(v).giveWay()
	r.bind(v, value)
}

// move is set for the old value plus something.
func (r *Replica) move(v *Variable, value *ops.Tensor) {
	e := r.entry(v)
	replaced := e.replaced
	r.set(v, value)
	e.replaced = replaced
}

func (r *Replica) bind(v *Variable, value *ops.Tensor) {
	e := r.entry(v)
	e.assigned, e.replaced = true, true
	if e.current = value; e.sharded {
		e.current, e.whole = r.Shard(value), value
	}
}

// Component is one copy of a variable, inside [CrossReplica.Update] or an update of a strategy: nothing is combined. If
// one copy serves all replicas, that of the first replica counts.
type Component struct {
	r *Replica
	v *Variable
}

// ComponentOf returns the replica's copy of a variable, in cross-replica context.
func (r *Replica) ComponentOf(v *Variable) *Component {
	r.entry(v)
	return &Component{r, v}
}

// Read returns the value of the copy.
func (c *Component) Read() *ops.Tensor { return c.r.Read(c.v) }

// Assign replaces the value of the copy.
func (c *Component) Assign(value *ops.Tensor) { c.r.set(c.v, value) }

// AssignAdd adds to the copy.
func (c *Component) AssignAdd(delta *ops.Tensor) {
	c.r.move(c.v, ops.Add(c.Read(), ops.Cast(delta, c.v.spec.DType)))
}

// AssignSub subtracts from the copy.
func (c *Component) AssignSub(delta *ops.Tensor) {
	c.r.move(c.v, ops.Subtract(c.Read(), ops.Cast(delta, c.v.spec.DType)))
}

// Replica returns the trace that the copy belongs to, for making constants.
func (c *Component) Replica() *Replica { return c.r }

// reduceKind turns a reduce op into the kind of a collective.
func (r *Replica) reduceKind(op ReduceOp) ir.Kind {
	switch op {
	case Sum:
		return ir.Sum
	case Mean:
		return ir.Mean
	}
	ops.Failf(r.graph, "cannot combine values by %q; use distribute.Sum or distribute.Mean", op)
	return ""
}
