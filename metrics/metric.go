package metrics

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Metric measures predictions against labels over many batches. Custom metrics embed [Base].
type Metric interface {
	// Build creates the state for labels and predictions of the given types; dtype is the type of its numbers unless
	// the metric has a DType of its own. Axis 0 is the batch, whose length must not matter. Building twice changes
	// nothing. Update builds the metric if that has not been done.
	Build(dtype ir.DType, yTrue, yPred ir.Type) error
	// Update adds one replica's part of a batch to the state. sampleWeight may be nil.
	Update(yTrue, yPred, sampleWeight *ops.Tensor)
	// Result returns the value over everything seen, on all replicas.
	Result(r *distribute.Replica) *ops.Tensor
	// MetricName is the name in logs; SetName changes it.
	MetricName() string
	SetName(name string)
	// Variables is the state.
	Variables() distribute.Variables
	// Direction says which results are better: "max", "min", or "" if that is not known.
	Direction() string
}

// The directions.
const (
	better = "max" // larger is better
	worse  = "min" // larger is worse
)

// Base holds the state of a metric: sums, which each replica keeps for its own examples. All metrics embed it.
type Base struct {
	name      string
	dtype     ir.DType
	owner     Metric
	variables distribute.Variables
	host      map[bool]*distribute.Function // updates from host memory, without and with weights
}

// SetName gives the metric another name.
func (b *Base) SetName(name string) { b.name = name }

// Variables is the state, nil before the metric is built.
func (b *Base) Variables() distribute.Variables { return b.variables }

// DTypeOf returns the type of the metric's numbers, once it is built.
func (b *Base) DTypeOf() ir.DType { return b.dtype }

// NameOr returns the name given by SetName, or else the first that is not empty.
//
//go:noinline
func (b *Base) NameOr(names ...string) string {
	for _, n := range append([]string{b.name}, names...) {
		if n != "" {
			return n
		}
	}
	return ""
}

// Begin starts to build metric m, which embeds b. It reports whether there is anything to do: a metric that is already
// built stays as it is. policy is the metric's own dtype, or "" to use dtype.
func (b *Base) Begin(m Metric, policy string, dtype ir.DType) (bool, error) {
	if b.owner != nil {
		return false, nil
	}
	if policy != "" {
		p, err := ops.ParseDTypePolicy(policy)
		if err != nil {
			return false, fmt.Errorf("metric %q: %w", m.MetricName(), err)
		}
		dtype = p.Compute
	}
	if !dtype.Valid() {
		return false, fmt.Errorf("metric %q: Build needs the type of its numbers, received %v; pass ir.Float32", m.MetricName(), dtype)
	}
	b.owner, b.dtype = m, dtype
	return true, nil
}

// Add creates a variable of zeros. Each replica has its own copy, and the sum of the copies is the value.
func (b *Base) Add(name string, shape ...int) *distribute.Variable {
	v := distribute.NewVariable(distribute.VariableSpec{
		Name: name, Shape: shape, DType: b.dtype, Frozen: true, Owner: pathOf{b.owner},
		Synchronization: distribute.OnRead, Aggregation: distribute.Sum,
	})
	b.variables = append(b.variables, v)
	return v
}

func (b *Base) base() *Base { return b }

type pathOf struct{ m Metric }

// Path is the name of the metric.
func (p pathOf) Path() string { return p.m.MetricName() }

// ready returns the replica that predictions are traced for. It builds the metric if that has not been done.
func (b *Base) ready(m Metric, yTrue, yPred *ops.Tensor) *distribute.Replica {
	if b.owner == nil {
		if err := m.Build(floatOf(yPred), yTrue.Type(), yPred.Type()); err != nil {
			ops.Fail(yPred.Graph(), err)
		}
	}
	return distribute.ReplicaOf(yPred.Graph())
}

// floatOf returns the type of the state of a metric of x.
func floatOf(x *ops.Tensor) ir.DType {
	if x.DType() == ir.Float64 {
		return ir.Float64
	}
	return ir.Float32
}

// read returns the sum of a variable over the replicas.
func read(r *distribute.Replica, v *distribute.Variable) *ops.Tensor { return r.ReadSynchronized(v) }

// notBuilt fails if the result is requested before any batch was seen, when its shape is not known.
func notBuilt(r *distribute.Replica, m Metric) {
	ops.Failf(r.Graph(), "metric %q has no result before its first batch; update it first", m.MetricName())
}

var errNilMetric = errors.New("metrics: the metric is nil; make it first, as in &metrics.Mean{}")

// zeros holds the values of variables that are reset, so that none needs memory for them. It is only read.
var zeros = kernels.NewArray(ir.Type{DType: ir.Uint8, Shape: ir.Shape{512}}).Data

// Reset forgets everything that the metric has seen. It must not run while a step does.
func Reset(m Metric) error {
	if m == nil {
		return errNilMetric
	}
	for _, v := range m.Variables() {
		t := v.Type()
		zero := kernels.Array{Type: t}
		if n := t.Bytes(); n <= len(zeros) {
			zero.Data = zeros[:n:n]
		} else {
			zero = kernels.NewArray(t)
		}
		if err := v.SetValue(zero); err != nil {
			return fmt.Errorf("metrics: resetting %q: %w", m.MetricName(), err)
		}
	}
	return nil
}

// once returns x on the first replica and 0 on the others. It is for values that all replicas have computed alike.
func once(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
	if r.NumReplicasInSync() == 1 {
		return x
	}
	return ops.Where(ops.CompareScalar(ir.Eq, r.ID(), 0), x, ops.ZerosLike(x))
}

// or returns what p points to, or the default if p is nil.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// sameShape returns labels and predictions of one shape, matched as in package objectives.
func sameShape(yTrue, yPred *ops.Tensor) (t, p *ops.Tensor) {
	t, p = objectives.Match(yTrue, yPred)
	if !t.Shape().Equal(p.Shape()) || p.Rank() == 0 {
		ops.Failf(p.Graph(), "labels have shape %v and predictions %v; they must be equal, (batch, ...)", yTrue.Shape(), yPred.Shape())
	}
	return t, p
}

// inMetric runs f under the metric's name, which then appears in errors.
func inMetric(m Metric, x *ops.Tensor, f func()) { x.Graph().InScope(m.MetricName(), f) }

// after returns the axes from first on.
func after(first, rank int) []int {
	axes := make([]int, 0, rank)
	for i := first; i < rank; i++ {
		axes = append(axes, i)
	}
	return slices.Clip(axes)
}
