package exec

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// VariableSynchronization says when the copies of a variable are synchronized.
type VariableSynchronization string

// The synchronizations. The zero value is OnWrite, TensorFlow's AUTO and ON_WRITE.
const (
	OnWrite           VariableSynchronization = ""        // mirrored: each write is combined, all copies stay equal
	OnRead            VariableSynchronization = "on_read" // each replica writes its own copy; reading combines them
	NoSynchronization VariableSynchronization = "none"    // always refused, as in TensorFlow
)

// VariableAggregation says how different values from the replicas are combined.
type VariableAggregation string

// The aggregations. The zero value is None: each replica writes its own copy, so the replicas must compute the same, or
// their copies will differ.
const (
	None             VariableAggregation = ""
	Sum              VariableAggregation = "sum"
	Mean             VariableAggregation = "mean"
	OnlyFirstReplica VariableAggregation = "only_first_replica"
)

// ReduceOp says how the values of the replicas become one: [Sum] or [Mean].
type ReduceOp = VariableAggregation

// Initializer makes initial values. Equal arguments give equal values.
type Initializer interface {
	// Initialize writes the elements of a tensor, row-major, into an array of zeros; [kernels.Array.SetFloat64s]
	// converts them. seed is used if the initializer has none of its own.
	Initialize(into kernels.Array, seed uint64) error
}

// VariableSpec describes a variable to make.
type VariableSpec struct {
	Name        string // last part of the path, "kernel"
	Shape       ir.Shape
	DType       ir.DType
	Initializer Initializer // nil: zeros
	// Frozen variables are not trained: moving statistics, optimizer slots, metric states.
	Frozen          bool
	Synchronization VariableSynchronization
	Aggregation     VariableAggregation
	// Sharded lets strategies with ShardOptimizerState cut the variable into pieces, one on each replica.
	Sharded bool
	// Regularizer returns a scalar that is added to the loss; Constraint returns the value that replaces an updated
	// one.
	Regularizer func(w *ops.Tensor) *ops.Tensor
	Constraint  func(w *ops.Tensor) *ops.Tensor
	// ConstraintOf is the value whose method Constraint is, for code that applies it elsewhere; nil if unknown.
	ConstraintOf any
	// Check, if it is not nil, refuses values that the variable must not be given.
	Check func(a kernels.Array) error
	// Owner gives the first part of the path. It is asked whenever the path is needed, because layers get their names
	// late.
	Owner interface{ Path() string }
}

// Variable is state that outlives a step: a weight, an optimizer slot, a metric's count. It has a copy on each replica
// of its strategy. Its memory is allocated, and its initial value drawn, when it is first needed.
type Variable struct {
	spec VariableSpec
	site string // where it was made

	fallback func() Strategy // strategy if it is used before it was placed

	mu       sync.Mutex
	strategy Strategy
	fixed    bool // see SetTrainable
	copies   []kernels.Buffer
	seed     uint64
	pending  *kernels.Array                // value given before there was memory
	whole    atomic.Pointer[kernels.Array] // of a variable with pieces in several processes: the value set last, until a step changes it
	assigned atomic.Bool                   // by a program that was traced
}

// NewVariable returns a variable that belongs to no strategy yet. If it is used before it was placed, it belongs to the
// strategy that fallback returns.
func NewVariable(spec VariableSpec, fallback func() Strategy) *Variable {
	return &Variable{spec: spec, site: CallSite(), fallback: fallback}
}

// check reports a combination of settings that no strategy accepts.
func (s VariableSpec) check() error {
	switch s.Synchronization {
	case OnWrite, OnRead:
	case NoSynchronization:
		return fmt.Errorf("the synchronization NoSynchronization is not supported under a strategy; use OnWrite or OnRead")
	default:
		return fmt.Errorf("%q is not a synchronization; use OnWrite or OnRead", s.Synchronization)
	}
	switch s.Aggregation {
	case None, Sum, OnlyFirstReplica:
	case Mean:
		if !s.DType.IsFloat() {
			return fmt.Errorf("the aggregation Mean needs a float type, the variable is of %v; use another aggregation or type", s.DType)
		}
	default:
		return fmt.Errorf("%q is not an aggregation; use None, Sum, Mean or OnlyFirstReplica", s.Aggregation)
	}
	return nil
}

// Spec returns what the variable was created from.
func (v *Variable) Spec() VariableSpec { return v.spec }

// Trainable reports whether training may change the variable: it was not made Frozen, nor fixed by SetTrainable since.
func (v *Variable) Trainable() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.spec.Frozen && !v.fixed
}

// SetTrainable fixes a trainable variable, or lets it be trained again. It keeps its place among the weights of its
// layer, and a variable that was made Frozen stays so. Functions that are already compiled do not change.
func (v *Variable) SetTrainable(trainable bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fixed = !trainable
}

// PlaceLike gives the variable to the strategy of another one, if that has one yet, with its seed.
func (v *Variable) PlaceLike(other *Variable) error {
	other.mu.Lock()
	s, seed := other.strategy, other.seed
	other.mu.Unlock()
	if s == nil {
		return nil
	}
	return v.Place(s, seed)
}

// Name returns the last part of the path.
func (v *Variable) Name() string { return v.spec.Name }

// Path returns the name with the names of the layers around it, "encoder/dense/kernel".
func (v *Variable) Path() string {
	if v.spec.Owner == nil {
		return v.spec.Name
	}
	if p := v.spec.Owner.Path(); p != "" {
		return p + "/" + v.spec.Name
	}
	return v.spec.Name
}

// Type returns element type and shape.
func (v *Variable) Type() ir.Type { return ir.Type{DType: v.spec.DType, Shape: v.spec.Shape} }

// Size returns the number of elements.
func (v *Variable) Size() int { return v.spec.Shape.Size() }

// Strategy returns the strategy that the variable belongs to, or nil.
func (v *Variable) Strategy() Strategy {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.strategy
}

// Site returns file and line of the code that made the variable.
func (v *Variable) Site() string { return v.site }

// String prints path and type.
func (v *Variable) String() string { return v.Path() + " " + v.Type().String() }

// Place gives the variable to a strategy. The initial value will be drawn from the seed and the path. Placing it again
// under the same strategy changes nothing; another strategy is an error, and so are settings that cannot go together.
func (v *Variable) Place(s Strategy, seed uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.place(s, seed)
}

// place is Place with the lock held.
func (v *Variable) place(s Strategy, seed uint64) error {
	s = inside(s)
	if v.strategy != nil {
		if v.strategy != s {
			return fmt.Errorf("distribute: variable %s (made at %s) belongs to %v%s and cannot be used under another strategy, %v%s; make its layer under one strategy, or build a new one and copy the weights",
				v.Path(), v.site, v.strategy, v.strategy.Placement().MadeAt(), s, s.Placement().MadeAt())
		}
		return nil
	}
	if err := v.spec.check(); err != nil {
		return fmt.Errorf("distribute: variable %s (made at %s): %w", v.Path(), v.site, err)
	}
	v.strategy, v.seed = s, seed
	return nil
}

// Buffer returns the memory of the copy on one replica of this process, allocated on first use. If one copy serves all
// replicas it is that.
func (v *Variable) Buffer(replica int) (kernels.Buffer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return nil, err
	}
	if len(v.copies) == 1 {
		return v.copies[0], nil
	}
	return v.copies[replica], nil
}

// materialize makes the copies and writes the initial value. The lock is held.
func (v *Variable) materialize() error {
	if v.copies != nil {
		return nil
	}
	if v.strategy == nil {
		if err := v.place(v.fallback(), 0); err != nil {
			return err
		}
	}
	copies, err := v.newCopies()
	if err != nil {
		return err
	}
	if v.pending == nil && v.spec.Initializer == nil { // buffers begin as zeros
		v.copies = copies
		return nil
	}
	if f, ok := copies[0].(kernels.Filler); ok && v.pending == nil && !v.keepsShares() && !v.strategy.Placement().shards(v) {
		err := fillAll(f, copies[1:], func(memory []byte) error {
			return v.initialize(kernels.Array{Type: v.Type(), Data: memory})
		})
		if err == nil {
			v.copies = copies
		}
		return err
	}
	value, err := v.initialValue()
	if err != nil {
		return err
	}
	v.copies, v.pending = copies, nil
	return v.write(value)
}

// newCopies allocates the memory of all copies.
func (v *Variable) newCopies() ([]kernels.Buffer, error) {
	at := v.strategy.Placement()
	devices := at.VariableDevices(v)
	copies := make([]kernels.Buffer, len(devices))
	for i, d := range devices {
		backend, err := kernels.Lookup(d.Kind)
		if err != nil {
			return nil, err
		}
		if copies[i], err = backend.NewBuffer(d, at.storedType(v)); err != nil {
			return nil, fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
	}
	return copies, nil
}

// fillAll writes a value directly into the first copy, and makes the others equal to it.
func fillAll(first kernels.Filler, others []kernels.Buffer, fill func(memory []byte) error) error {
	err := first.Fill(fill)
	for _, c := range others {
		if err == nil {
			err = c.CopyFrom(first).Wait(context.Background())
		}
	}
	return err
}

func (v *Variable) initialize(into kernels.Array) error {
	if err := v.spec.Initializer.Initialize(into, hashSeed(v.seed, v.Path())); err != nil {
		return fmt.Errorf("distribute: initial value of variable %s: %w", v.Path(), err)
	}
	return nil
}

func (v *Variable) initialValue() (kernels.Array, error) {
	if v.pending != nil {
		return *v.pending, nil
	}
	if err := memory.Check(fmt.Sprintf("distribute: the initial value of variable %s, %v,", v.Path(), v.Type()), v.Type().Bytes()); err != nil {
		return kernels.Array{}, err
	}
	a := kernels.NewArray(v.Type())
	return a, v.initialize(a)
}

// hashSeed mixes a seed with a text (FNV-1a), so that each variable draws from its own stream.
func hashSeed(seed uint64, text string) uint64 {
	h := uint64(14695981039346656037) ^ seed
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}

// write stores a value in all copies. A variable whose copies are summed when read keeps an equal share in each, so
// that replicas that continue from it start alike; the first copy takes the rounding error.
func (v *Variable) write(a kernels.Array) error {
	if v.strategy.Placement().shards(v) {
		return v.writePieces(a)
	}
	n, start := v.sharers(len(v.copies))
	first, others := a, a
	if n > 1 && v.keepsShares() {
		var err error
		if first, others, err = shares(a, n); err != nil {
			return err
		}
	}
	for i, c := range v.copies {
		part := first
		if start+i > 0 {
			part = others
		}
		if err := c.Write(part.Data); err != nil {
			return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
	}
	return nil
}

// sharers returns the number of replicas with copies, of which this process has some, and the number of its first one.
func (v *Variable) sharers(copies int) (n, start int) {
	if at := v.strategy.Placement(); at.Group != nil {
		return at.Total, at.First
	}
	return copies, 0
}

// keepsShares reports whether the copies add up to the value.
func (v *Variable) keepsShares() bool {
	return v.spec.Synchronization == OnRead && v.spec.Aggregation == Sum
}

// shares splits a value into n parts that add up to it, all but the first equal.
func shares(a kernels.Array, n int) (first, others kernels.Array, err error) {
	whole := a.Float64s()
	part := make([]float64, len(whole))
	for i, x := range whole {
		part[i] = x / float64(n)
		if !a.Type.DType.IsFloat() {
			part[i] = math.Trunc(part[i])
		}
	}
	if others, err = kernels.FromFloat64s(a.Type.DType, a.Type.Shape, part); err != nil {
		return first, others, err
	}
	for i, x := range whole {
		if rest := x - float64(n-1)*others.Element(i); !math.IsNaN(rest) {
			part[i] = rest
		}
	}
	first, err = kernels.FromFloat64s(a.Type.DType, a.Type.Shape, part)
	return first, others, err
}

// Value returns a copy of the value: for a mirrored variable that of the first replica, for a sync-on-read variable the
// aggregated one. If the strategy spans several processes, the latter is aggregated over all of them, and all must call
// Value.
func (v *Variable) Value() (kernels.Array, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return kernels.Array{}, err
	}
	if v.strategy.Placement().shards(v) {
		return v.readPieces()
	}
	out := kernels.NewArray(v.Type())
	if err := v.copies[0].Read(out.Data); err != nil {
		return out, err
	}
	group := v.workers()
	if v.spec.Synchronization != OnRead || len(v.copies) == 1 && group == nil || group == nil && v.spec.Aggregation == OnlyFirstReplica {
		return out, nil
	}
	if v.spec.Aggregation == OnlyFirstReplica {
		return out, group.Broadcast(context.Background(), WorkerCall{Name: "read " + v.Path()}, 0, []kernels.Array{out})
	}
	if v.spec.Aggregation == None {
		return out, v.errNoAggregation("read")
	}
	sum := out.Float64s()
	for _, c := range v.copies[1:] {
		if err := c.Read(out.Data); err != nil {
			return out, err
		}
		for i, x := range out.Float64s() {
			sum[i] += x
		}
	}
	if group != nil {
		if err := SumOverWorkers(group, "read "+v.Path(), sum); err != nil {
			return out, fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
	}
	if v.spec.Aggregation == Mean {
		n := len(v.copies)
		if group != nil {
			n = v.strategy.NumReplicasInSync()
		}
		for i := range sum {
			sum[i] /= float64(n)
		}
	}
	return kernels.FromFloat64s(v.spec.DType, v.spec.Shape, sum)
}

// workers connects the processes that have copies of the variable; nil if all are in this one.
func (v *Variable) workers() WorkerGroup {
	return v.strategy.Placement().Group
}

// SetValue replaces the value on all replicas. It must not run during a step.
func (v *Variable) SetValue(a kernels.Array) error {
	if !a.Type.Shape.Equal(v.spec.Shape) {
		return fmt.Errorf("distribute: variable %s has shape %v, received a value of shape %v", v.Path(), v.spec.Shape, a.Type.Shape)
	}
	if a.Type.DType != v.spec.DType {
		var err error
		if a, err = kernels.FromFloat64s(v.spec.DType, v.spec.Shape, a.Float64s()); err != nil {
			return err
		}
	}
	if err := v.check(a); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.copies == nil {
		clone := kernels.Array{Type: a.Type, Data: append([]byte(nil), a.Data...)}
		v.pending = &clone
		return nil
	}
	return v.write(a)
}

// Free releases the memory; the variable must not be used afterwards.
func (v *Variable) Free() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.copies {
		c.Free()
	}
	v.copies = nil
}

// Variables is an ordered set of variables; it serves as the sources of gradients.
type Variables []*Variable

// Tensors returns the tensors that stand for the variables in the trace of g. For a table on parameter servers these
// are the rows that are here, if the step needs no others.
func (vs Variables) Tensors(g *ops.Graph) []*ops.Tensor {
	r := ReplicaOf(g)
	out := make([]*ops.Tensor, len(vs))
	for i, v := range vs {
		if out[i] = r.rowsOf(v); out[i] == nil {
			out[i] = r.Read(v)
		}
	}
	return out
}

// EarlierTensors returns for each variable the values that it had in g before it was assigned.
func (vs Variables) EarlierTensors(g *ops.Graph) [][]*ops.Tensor {
	r := ReplicaOf(g)
	out := make([][]*ops.Tensor, len(vs))
	for i, v := range vs {
		if r.rowsOf(v) == nil {
			out[i] = r.entry(v).earlier
		}
	}
	return out
}

// Count returns the number of elements of all variables.
func (vs Variables) Count() int {
	n := 0
	for _, v := range vs {
		n += v.Size()
	}
	return n
}
