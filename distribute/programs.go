package distribute

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/exec"
)

// Types of package kernels/exec for code that runs under a strategy, under the names that programs expect here.
type (
	// Function is traced code: compiled once for each combination of input types and replayed on every replica.
	Function = exec.Function
	// Instance is a session of a compiled function on every replica.
	Instance = exec.Instance
	// NestFunction is replica code with structures for arguments and results.
	NestFunction = exec.NestFunction
	// TraceFunc describes one replica's computation.
	TraceFunc = exec.TraceFunc
	// StepFunction is the body of a custom training loop on one replica.
	StepFunction = exec.StepFunction
	// LateError is the error of a step that ended after others had been launched.
	LateError = exec.LateError
	// PanicError is the error of a run whose step function panicked.
	PanicError = exec.PanicError

	// Replica is the view that traced code has of the replica it will run on.
	Replica = exec.Replica
	// CrossReplica is what the function of a [Replica.MergeCall] works with.
	CrossReplica = exec.CrossReplica
	// Component is one copy of a variable.
	Component = exec.Component
	// Context tells a layer how it is called.
	Context = exec.Context
	// IndexedSlices are rows of a larger tensor.
	IndexedSlices = exec.IndexedSlices

	// Batch is what a step function sees of one replica's part of a batch.
	Batch = exec.Batch
	// HostBatch is one replica's part of a batch in host memory.
	HostBatch = exec.HostBatch
	// PerReplicaBatch is a global batch divided into one part per replica.
	PerReplicaBatch = exec.PerReplicaBatch
	// PerReplica is one value on each replica of this process.
	PerReplica = exec.PerReplica
	// PerReplicaObjects is one Go value on each replica.
	PerReplicaObjects = exec.PerReplicaObjects

	// WorkerGroup connects the processes of a strategy over several.
	WorkerGroup = exec.WorkerGroup
	// WorkerCall says what a collective of processes belongs to.
	WorkerCall = exec.WorkerCall
)

// Variables, which outlive a step, and their descriptions.
type (
	// Variable is state that outlives a step: a weight, an optimizer slot, a metric's count.
	Variable = exec.Variable
	// Variables is an ordered set of variables.
	Variables = exec.Variables
	// VariableSpec describes a variable to make.
	VariableSpec = exec.VariableSpec
	// Initializer creates initial values.
	Initializer = exec.Initializer
	// VariableSynchronization says when the copies of a variable are brought together.
	VariableSynchronization = exec.VariableSynchronization
	// VariableAggregation says how different values from the replicas are combined.
	VariableAggregation = exec.VariableAggregation
	// ReduceOp says how the values of the replicas become one: [Sum] or [Mean].
	ReduceOp = exec.ReduceOp
)

// ErrNotFilled is in the error of [Function.AcquireFilled] if rows that pad a batch would affect the result.
var ErrNotFilled = exec.ErrNotFilled

// The synchronizations. The zero value is OnWrite, TensorFlow's AUTO and ON_WRITE.
const (
	OnWrite           = exec.OnWrite           // mirrored: each write is combined, all copies stay equal
	OnRead            = exec.OnRead            // each replica writes its own copy; reading combines them
	NoSynchronization = exec.NoSynchronization // exists to be refused, as in TensorFlow
)

// The aggregations. The zero value is None: each replica writes its own copy, so the replicas must compute alike, or
// their copies will differ.
const (
	None             = exec.None
	Sum              = exec.Sum
	Mean             = exec.Mean
	OnlyFirstReplica = exec.OnlyFirstReplica
)

// NewVariable returns a variable that belongs to no strategy yet. If it is used before it is given to one, it belongs
// to [Default].
func NewVariable(spec VariableSpec) *Variable {
	return exec.NewVariable(spec, func() exec.Strategy { return Default() })
}

// NewFunction prepares f for a strategy. Nothing is traced before the first run.
func NewFunction(s Strategy, name string, f TraceFunc) *Function { return exec.NewFunction(s, name, f) }

// NewProcessFunction is NewFunction for code that only the replicas of this process run, even if the strategy spans
// several processes: sums are over the replicas of this process, and other processes need not run the function.
func NewProcessFunction(s Strategy, name string, f TraceFunc) *Function {
	return exec.NewProcessFunction(s, name, f)
}

// NewNestFunction prepares replica code with structures for arguments and results for a strategy; see [NestFunction].
func NewNestFunction(s Strategy, f func(r *Replica, args ...any) any) *NestFunction {
	return exec.NewNestFunction(s, f)
}

// NewReplica starts a trace for one of n replicas outside any strategy, to compute shapes. local is the number of
// examples of the batch on this replica, global the number on all replicas.
func NewReplica(name string, n, local, global int) *Replica {
	return exec.NewReplica(name, n, local, global)
}

// ReplicaOf returns the replica whose trace g belongs to.
func ReplicaOf(g *ops.Graph) *Replica { return exec.ReplicaOf(g) }

// MapStructure returns the structure, of map[string]any and []any, with f applied to each leaf. Maps are traversed in
// the order of their keys; path names the place.
func MapStructure(v any, f func(path string, leaf any) (any, error)) (any, error) {
	return exec.MapStructure(v, f)
}

// StrategyOf returns the strategy that a variable, a function or a replica belongs to; nil if there is none.
func StrategyOf(of interface{ Strategy() exec.Strategy }) Strategy {
	s, _ := of.Strategy().(Strategy)
	return s
}
