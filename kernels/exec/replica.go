package exec

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Replica is the view that traced code has of the replica it will run on. The same trace serves every replica with the
// same local shapes; only the data, the random state and [Replica.ID] differ at run time.
type Replica struct {
	// Probing marks a trace that only works out shapes and will not run.
	Probing bool

	graph    *ops.Graph
	replicas int
	global   int
	local    int
	parts    []int // examples of each replica, if local includes padding rows; see Rows
	// rowWeights is what RowWeights returned.
	rowWeights *ops.Tensor

	strategy  Strategy // nil in a trace that no strategy made
	variables []*Variable
	entries   map[*Variable]*tracedVariable
	random    *ops.Tensor
	bucket    int
	losses    []addedLoss

	cross   bool         // inside MergeCall
	skipSum bool         // inside WithoutAggregation
	merges  int          // calls of MergeCall
	gathers []gatherCall // calls of AllGather
	lengths [][]int      // of each AllGather, the replicas' lengths; nil if they are equal
	result  any          // structure of the results of a NestFunction

	lookup func(table *Variable, ids *ops.Tensor) *ops.Tensor // answers Lookup; nil: nobody does
	rows   func(table *Variable) *ops.Tensor                  // the rows that stand for tables as sources of gradients; nil: the tables do
}

// tracedVariable is a variable inside one trace: the input that holds it and its current value.
type tracedVariable struct {
	input    int
	current  *ops.Tensor // of a sharded variable, this replica's piece
	assigned bool
	replaced bool // assigned otherwise than by adding to it
	sharded  bool
	whole    *ops.Tensor   // of a sharded variable, once it was gathered or assigned
	earlier  []*ops.Tensor // values that were read before assignments
}

// giveWay records that another value replaces this one, without a gradient between them.
func (e *tracedVariable) giveWay() {
	if x := e.read(); x != nil {
		e.earlier = append(e.earlier, x)
	}
}

// read is the value that readers of the variable were given; nil if a sharded one was not gathered.
func (e *tracedVariable) read() *ops.Tensor {
	if e.sharded {
		return e.whole
	}
	return e.current
}

// NewReplica starts a trace for one of n replicas. The batch sizes are known when the program is traced: local examples
// on this replica, global on all.
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

// ID returns the number of the replica that runs the program, an int32 scalar that counts from 0.
func (r *Replica) ID() *ops.Tensor {
	return ops.Cast(ops.ReplicaID(r.graph, r.replicas), ir.Int32)
}

// LocalBatchSize is the number of examples on this replica.
func (r *Replica) LocalBatchSize() int { return r.local }

// GlobalBatchSize is the number of examples on all replicas.
func (r *Replica) GlobalBatchSize() int { return r.global }

// Strategy returns the strategy that the replica belongs to; nil in a trace that only works out shapes.
func (r *Replica) Strategy() Strategy { return r.strategy }

// InCrossReplicaContext reports whether the function of a MergeCall is being traced.
func (r *Replica) InCrossReplicaContext() bool { return r.cross }

// inReplica fails in cross-replica context.
func (r *Replica) inReplica(what string) {
	if r.cross {
		ops.Failf(r.graph, "%s requires being in replica context; in the function of MergeCall use the methods of CrossReplica", what)
	}
}

// AllReduce combines each tensor with its peers on the other replicas; every replica gets the result. The gradient of a
// sum is the sum of the gradients, that of a mean their mean.
func (r *Replica) AllReduce(kind ir.Kind, xs ...*ops.Tensor) []*ops.Tensor {
	r.inReplica("AllReduce")
	return r.allReduce(kind, xs...)
}

// AllReduceGroups is AllReduce within groups of replicas. groups lists the replicas of each group: every replica is in
// one group, and all groups have the same length. A replica gets the values of its group, combined in the order of the
// group; nil is one group of all. The gradient is combined in the same groups. Other groups are an error.
func (r *Replica) AllReduceGroups(kind ir.Kind, groups [][]int, xs ...*ops.Tensor) []*ops.Tensor {
	r.inReplica("AllReduceGroups")
	if groups == nil {
		return r.allReduce(kind, xs...)
	}
	return ops.AllReduceGroups(kind, r.replicas, groups, xs...)
}

func (r *Replica) allReduce(kind ir.Kind, xs ...*ops.Tensor) []*ops.Tensor {
	if r.replicas == 1 || len(xs) == 0 {
		return xs
	}
	r.bucket++
	return ops.AllReduce(kind, r.replicas, r.bucket, xs...)
}

// Read returns the value that the variable has at this point of the trace, on this replica. As on TensorFlow's tapes,
// no gradient flows through an assignment: a variable that is read after it was assigned is a separate source, with
// respect to which later gradients are taken.
func (r *Replica) Read(v *Variable) *ops.Tensor {
	e := r.entry(v)
	if !e.sharded {
		return e.current
	}
	if e.whole == nil {
		e.whole = r.Unshard([]*ops.Tensor{e.current}, []ir.Shape{v.spec.Shape})[0]
	}
	return e.whole
}

func (r *Replica) entry(v *Variable) *tracedVariable {
	r.needVariable(v)
	e := r.entries[v]
	if e == nil {
		at := placementOf(r.strategy)
		t := at.storedType(v)
		e = &tracedVariable{input: len(r.graph.Program().Inputs), sharded: at.shards(v)}
		e.current = r.graph.Input(v.Path(), t.DType, t.Shape...)
		r.entries[v] = e
		r.variables = append(r.variables, v)
	}
	return e
}

func (r *Replica) needVariable(v *Variable) {
	if v == nil {
		ops.Failf(r.graph, "a variable is nil; those of a layer are made when it is built: call a layer by Invoke or in a model, not by its Forward, and a cell after BuildMember")
	}
}

// ReadSynchronized returns the value combined over the replicas: for a sync-on-read variable by its aggregation, for a
// mirrored one the local copy, which all share.
func (r *Replica) ReadSynchronized(v *Variable) *ops.Tensor {
	x := r.Read(v)
	if r.combinesOnWrite(v) {
		return x
	}
	return r.aggregate(v, x)
}

// ReadSynchronizedSums is ReadSynchronized of variables with the aggregation Sum, all of which one exchange between the
// replicas combines.
func (r *Replica) ReadSynchronizedSums(variables ...*Variable) []*ops.Tensor {
	out := make([]*ops.Tensor, len(variables))
	var places []int
	var parts []*ops.Tensor
	for i, v := range variables {
		if out[i] = r.Read(v); !r.combinesOnWrite(v) {
			places, parts = append(places, i), append(parts, out[i])
		}
	}
	for k, sum := range r.allReduce(ir.Sum, parts...) {
		out[places[k]] = sum
	}
	return out
}

// aggregate combines the replicas' values by the variable's aggregation.
func (r *Replica) aggregate(v *Variable, x *ops.Tensor) *ops.Tensor {
	if r.replicas == 1 {
		return x
	}
	switch v.spec.Aggregation {
	case Sum:
		return r.allReduce(ir.Sum, x)[0]
	case Mean:
		return r.allReduce(ir.Mean, x)[0]
	case OnlyFirstReplica:
		return r.ofFirst(x)
	}
	return x
}

// ofFirst returns the value of the first replica on all replicas.
func (r *Replica) ofFirst(x *ops.Tensor) *ops.Tensor {
	return ops.CollectiveBroadcast(x, 0, r.replicas)
}

// AssignsVariables reports whether the trace has assigned a variable so far.
func (r *Replica) AssignsVariables() bool {
	for _, e := range r.entries {
		if e.assigned {
			return true
		}
	}
	return false
}

// OnlyAdds reports whether the trace has changed the variable only by AssignAdd, AssignSub and the like, or not at all.
// Then changes that several replicas make to the same value add up.
func (r *Replica) OnlyAdds(v *Variable) bool {
	e := r.entries[v]
	return e == nil || !e.replaced
}

// DropAssignments makes the program that is being traced leave all variables unchanged, whatever was assigned so far.
func (r *Replica) DropAssignments() {
	for _, e := range r.entries {
		e.assigned = false
	}
}

// Variables returns the variables that the trace has read or assigned so far.
func (r *Replica) Variables() Variables { return r.variables }
