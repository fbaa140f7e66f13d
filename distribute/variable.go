package distribute

import (
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// VariableSynchronization says when the copies of a variable are brought together.
type VariableSynchronization string

// The synchronizations. The zero value is OnWrite.
const (
	OnWrite VariableSynchronization = ""        // mirrored: each write is combined, all copies stay equal
	OnRead  VariableSynchronization = "on_read" // each replica writes its own copy; reading combines them
)

// VariableAggregation says how different values from the replicas are combined.
type VariableAggregation string

// The aggregations. The zero value is None: the replicas write what they computed alike.
const (
	None             VariableAggregation = ""
	Sum              VariableAggregation = "sum"
	Mean             VariableAggregation = "mean"
	OnlyFirstReplica VariableAggregation = "only_first_replica"
)

// Initializer makes initial values. Equal arguments give equal values.
type Initializer interface {
	// Initialize returns the elements of a tensor, row-major. seed is used where the initializer has none of its own.
	Initialize(shape ir.Shape, dtype ir.DType, seed uint64) ([]float64, error)
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
	// Regularizer returns a scalar that is added to the loss; Constraint returns the value that replaces an updated one.
	Regularizer func(w *ops.Tensor) *ops.Tensor
	Constraint  func(w *ops.Tensor) *ops.Tensor
	// Owner gives the first part of the path. It is asked whenever the path is, because layers get their names late.
	Owner interface{ Path() string }
}

// Variable is state that outlives a step: a weight, an optimizer slot, a metric's count. It has a copy on each replica of the
// strategy that it belongs to. Its memory is made, and its initial value drawn, when it is first needed.
type Variable struct {
	spec VariableSpec

	mu       sync.Mutex
	strategy Strategy
	copies   []kernels.Buffer
	seed     uint64
	pending  *kernels.Array // value given before there was memory
}

// NewVariable returns a variable that belongs to no strategy yet.
func NewVariable(spec VariableSpec) *Variable { return &Variable{spec: spec} }

// Spec returns what the variable was made from.
func (v *Variable) Spec() VariableSpec { return v.spec }

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

// String prints path and type.
func (v *Variable) String() string { return v.Path() + " " + v.Type().String() }

// Place gives the variable to a strategy. The initial value will be drawn from the seed and the path. Placing it again under
// the same strategy changes nothing; another strategy is an error.
func (v *Variable) Place(s Strategy, seed uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.strategy != nil {
		if v.strategy != s {
			return fmt.Errorf("distribute: variable %s belongs to %v and cannot be used under another strategy, %v; make its layer under one strategy, or build a new one and copy the weights", v.Path(), v.strategy, s)
		}
		return nil
	}
	v.strategy, v.seed = s, seed
	return nil
}

// Buffer returns the memory of the copy on one replica, made on first use.
func (v *Variable) Buffer(replica int) (kernels.Buffer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return nil, err
	}
	return v.copies[replica], nil
}

// materialize makes the copies and writes the initial value. The lock is held.
func (v *Variable) materialize() error {
	if v.copies != nil {
		return nil
	}
	if v.strategy == nil {
		v.strategy = Default()
	}
	copies := make([]kernels.Buffer, len(v.strategy.Devices()))
	for i, d := range v.strategy.Devices() {
		backend, err := kernels.Lookup(d.Kind)
		if err != nil {
			return err
		}
		if copies[i], err = backend.NewBuffer(d, v.Type()); err != nil {
			return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
	}
	if v.pending == nil && v.spec.Initializer == nil { // buffers begin as zeros
		v.copies = copies
		return nil
	}
	value, err := v.initialValue()
	if err != nil {
		return err
	}
	v.copies, v.pending = copies, nil
	return v.write(value)
}

func (v *Variable) initialValue() (kernels.Array, error) {
	if v.pending != nil {
		return *v.pending, nil
	}
	values, err := v.spec.Initializer.Initialize(v.spec.Shape, v.spec.DType, hashSeed(v.seed, v.Path()))
	if err != nil {
		return kernels.Array{}, fmt.Errorf("distribute: initial value of variable %s: %w", v.Path(), err)
	}
	a, err := kernels.FromFloat64s(v.spec.DType, v.spec.Shape, values)
	if err != nil {
		return a, fmt.Errorf("distribute: initial value of variable %s: %w", v.Path(), err)
	}
	return a, nil
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

// write stores a value in all copies; a variable whose copies are summed when read keeps it in the first one.
func (v *Variable) write(a kernels.Array) error {
	for i, c := range v.copies {
		data := a.Data
		if i > 0 && v.spec.Synchronization == OnRead && v.spec.Aggregation == Sum {
			data = make([]byte, len(a.Data))
		}
		if err := c.Write(data); err != nil {
			return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
	}
	return nil
}

// Value returns a copy of the value: of a mirrored variable that of the first replica, of a sync-on-read variable the
// aggregated one.
func (v *Variable) Value() (kernels.Array, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return kernels.Array{}, err
	}
	out := kernels.NewArray(v.Type())
	if err := v.copies[0].Read(out.Data); err != nil {
		return out, err
	}
	if v.spec.Synchronization != OnRead || len(v.copies) == 1 || v.spec.Aggregation == OnlyFirstReplica {
		return out, nil
	}
	if v.spec.Aggregation == None {
		return out, fmt.Errorf("distribute: variable %s is synchronized on read but has no aggregation, so its %d copies have no common value; give it Sum, Mean or OnlyFirstReplica", v.Path(), len(v.copies))
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
	if v.spec.Aggregation == Mean {
		for i := range sum {
			sum[i] /= float64(len(v.copies))
		}
	}
	return kernels.FromFloat64s(v.spec.DType, v.spec.Shape, sum)
}

// SetValue replaces the value on all replicas. It must not run while a step does.
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
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.copies == nil {
		clone := kernels.Array{Type: a.Type, Data: append([]byte(nil), a.Data...)}
		v.pending = &clone
		return nil
	}
	return v.write(a)
}

// Free gives the memory back; the variable must not be used afterwards.
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

// Tensors returns the tensors that stand for the variables in the trace of g.
func (vs Variables) Tensors(g *ops.Graph) []*ops.Tensor {
	r := ReplicaOf(g)
	out := make([]*ops.Tensor, len(vs))
	for i, v := range vs {
		out[i] = r.Read(v)
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
