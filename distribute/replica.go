package distribute

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Replica is the view that traced code has of the replica it will run on. The same trace serves every replica with the same
// local shapes: what differs at run time are the data, the random state and [Replica.ID].
type Replica struct {
	// Probing marks a trace that only works out shapes and will not run.
	Probing bool

	graph    *ops.Graph
	replicas int
	global   int
	local    int

	variables []*Variable
	entries   map[*Variable]*tracedVariable
	random    *ops.Tensor
	bucket    int
	losses    []*ops.Tensor
}

// tracedVariable is a variable inside one trace: the input it came in as and the value it has by now.
type tracedVariable struct {
	input    int
	current  *ops.Tensor
	assigned bool
}

// NewReplica starts a trace for one of n replicas. The batch sizes are known when the program is traced: local examples on
// this replica, global on all.
func NewReplica(name string, n, local, global int) *Replica {
	r := &Replica{graph: ops.NewGraph(name), replicas: n, local: local, global: global, entries: map[*Variable]*tracedVariable{}}
	r.graph.SetOwner(r)
	r.graph.SetRandom(func() *ops.Tensor {
		r.random = r.graph.Input("random_state", ir.Uint32, 4)
		return r.random
	})
	return r
}

// ReplicaOf returns the replica whose trace g belongs to.
func ReplicaOf(g *ops.Graph) *Replica {
	r, ok := g.Root().Owner().(*Replica)
	if !ok {
		ops.Failf(g, "variables can be read only in a trace of a strategy (Fit, strategy.Function or a layer's Call)")
	}
	return r
}

// Graph returns the program under construction.
func (r *Replica) Graph() *ops.Graph { return r.graph }

// NumReplicasInSync is the number of replicas that take part in each step.
func (r *Replica) NumReplicasInSync() int { return r.replicas }

// ID returns the number of the replica that runs the program, an int32 scalar from 0.
func (r *Replica) ID() *ops.Tensor {
	return ops.Cast(ops.ReplicaID(r.graph, r.replicas), ir.Int32)
}

// LocalBatchSize is the number of examples on this replica.
func (r *Replica) LocalBatchSize() int { return r.local }

// GlobalBatchSize is the number of examples on all replicas.
func (r *Replica) GlobalBatchSize() int { return r.global }

// AllReduce combines each tensor with its peers on the other replicas; every replica gets the result. The gradient of a sum is
// the sum of the gradients.
func (r *Replica) AllReduce(kind ir.Kind, xs ...*ops.Tensor) []*ops.Tensor {
	if r.replicas == 1 || len(xs) == 0 {
		return xs
	}
	r.bucket++
	return ops.AllReduce(kind, r.replicas, r.bucket, xs...)
}

// AllGather joins the replicas' tensors, of equal shapes, along axis in replica order.
func (r *Replica) AllGather(x *ops.Tensor, axis int) *ops.Tensor {
	if r.replicas == 1 {
		return x
	}
	return ops.AllGather(x, axis, r.replicas)
}

// Read returns the value that the variable has at this point of the trace, on this replica.
func (r *Replica) Read(v *Variable) *ops.Tensor { return r.entry(v).current }

func (r *Replica) entry(v *Variable) *tracedVariable {
	e := r.entries[v]
	if e == nil {
		t := v.Type()
		e = &tracedVariable{input: len(r.graph.Program().Inputs)}
		e.current = r.graph.Input(v.Path(), t.DType, t.Shape...)
		r.entries[v] = e
		r.variables = append(r.variables, v)
	}
	return e
}

// ReadSynchronized returns the value combined over the replicas: for a sync-on-read variable by its aggregation, for a
// mirrored one the local copy, which all share.
func (r *Replica) ReadSynchronized(v *Variable) *ops.Tensor {
	x := r.Read(v)
	if v.spec.Synchronization != OnRead {
		return x
	}
	return r.aggregate(v, x)
}

func (r *Replica) aggregate(v *Variable, x *ops.Tensor) *ops.Tensor {
	if r.replicas == 1 {
		return x
	}
	switch v.spec.Aggregation {
	case Sum:
		return r.AllReduce(ir.Sum, x)[0]
	case Mean:
		return r.AllReduce(ir.Mean, x)[0]
	case OnlyFirstReplica:
		first := ops.CompareScalar(ir.Eq, r.ID(), 0)
		return r.AllReduce(ir.Sum, ops.Where(first, x, ops.ZerosLike(x)))[0]
	}
	return x
}

// Assign gives the variable a new value from this point of the trace on. A mirrored variable with an aggregation gets the
// combined value on all replicas; without one every replica must compute the same value.
func (r *Replica) Assign(v *Variable, value *ops.Tensor) {
	e := r.entry(v)
	if value.Graph() != r.graph {
		ops.Failf(value.Graph(), "variable %s cannot be assigned inside a loop or branch; hand the value out of it first", v.Path())
	}
	value = ops.Cast(value, v.spec.DType)
	if !value.Shape().Equal(v.spec.Shape) {
		ops.Failf(r.graph, "variable %s has shape %v and cannot be assigned a value of shape %v", v.Path(), v.spec.Shape, value.Shape())
	}
	if v.spec.Synchronization != OnRead {
		value = r.aggregate(v, value)
	}
	e.current, e.assigned = value, true
}

// AssignAdd adds delta to the variable; see [Replica.Assign]. For a mirrored variable the combined delta is added.
func (r *Replica) AssignAdd(v *Variable, delta *ops.Tensor) {
	e := r.entry(v)
	if v.spec.Synchronization != OnRead {
		delta = r.aggregate(v, delta)
	}
	e.current = ops.Cast(ops.Add(e.current, ops.Cast(delta, v.spec.DType)), v.spec.DType)
	e.assigned = true
}

// Variables returns the variables that the trace has read or assigned so far.
func (r *Replica) Variables() Variables { return r.variables }
