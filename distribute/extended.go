package distribute

import (
	"context"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Extended is the part of a strategy that libraries use: tf.distribute.StrategyExtended.
type Extended struct{ strategy Strategy }

// WorkerDevices lists the devices that run replicas. The default strategy lists none.
func (e *Extended) WorkerDevices() ([]string, error) {
	if !HasStrategy(e.strategy) {
		return nil, fmt.Errorf("distribute: WorkerDevices is not supported by the default strategy; make a strategy that names its devices")
	}
	return deviceNames(e.strategy.Devices()), nil
}

// ParameterDevices lists the devices that hold variables.
func (e *Extended) ParameterDevices() ([]string, error) {
	if b := baseOf(e.strategy); b != nil && b.at.Central {
		return []string{b.at.Parameter.String()}, nil
	}
	if !HasStrategy(e.strategy) {
		return nil, fmt.Errorf("distribute: ParameterDevices is not supported by the default strategy; make a strategy that names its devices")
	}
	return deviceNames(e.strategy.Devices()), nil
}

// NonSlotDevices lists the devices for variables that belong to all of vs, such as an optimizer's iteration count.
func (e *Extended) NonSlotDevices(Variables) []string {
	if b := baseOf(e.strategy); b != nil && b.at.Central {
		return []string{b.at.Parameter.String()}
	}
	return deviceNames(e.strategy.Devices())
}

func deviceNames(devices []kernels.Device) []string {
	out := make([]string, len(devices))
	for i, d := range devices {
		out[i] = d.String()
	}
	return out
}

// ShouldCheckpoint reports whether this process writes checkpoints.
func (e *Extended) ShouldCheckpoint() bool { return e.isChief() }

// ShouldSaveSummary reports whether this process writes summaries.
func (e *Extended) ShouldSaveSummary() bool { return e.isChief() }

// ShouldInit reports whether this process initializes variables. Every process does: the initial values depend on seed
// and path.
func (e *Extended) ShouldInit() bool { return true }

func (e *Extended) isChief() bool {
	if w, ok := e.strategy.(*MultiWorkerMirroredStrategy); ok {
		return w.IsChief()
	}
	if p, ok := e.strategy.(*ParameterServerStrategy); ok {
		return p.IsCoordinator()
	}
	b := baseOf(e.strategy)
	return b == nil || b.at.First == 0 && (b.at.Hosts == nil || b.at.Hosts.Rank() == 0)
}

// BetweenGraph reports whether the replicas of several processes run separate programs.
func (e *Extended) BetweenGraph() bool {
	return e.strategy.NumReplicasInSync() > len(e.strategy.Devices())
}

// RequireStaticShapes reports whether all batches need one shape. A new shape is compiled; none is refused.
func (e *Extended) RequireStaticShapes() bool { return false }

// VariableCreatedInScope reports whether the variable belongs to the strategy.
func (e *Extended) VariableCreatedInScope(v *Variable) bool { return v.Strategy() == e.strategy }

// ReadVar returns the variable's value in cross-replica context.
func (e *Extended) ReadVar(v *Variable) (kernels.Array, error) { return v.Value() }

// ColocateVarsWith returns a scope whose variables are placed where v is. v must belong to the strategy.
func (e *Extended) ColocateVarsWith(v *Variable) (ScopeOption, error) {
	if !e.VariableCreatedInScope(v) {
		return ScopeOption{}, fmt.Errorf("distribute: ColocateVarsWith: variable %s (made at %s) belongs to %v, not to %v; give a variable of this strategy", v.Path(), v.Site(), v.Strategy(), e.strategy)
	}
	return Scope(e.strategy), nil
}

// Destination is where the result of ReduceTo goes.
type Destination struct {
	devices []kernels.Device
	err     error
}

// ToVariable stands for the devices that hold the variable.
func ToVariable(v *Variable) Destination {
	s := StrategyOf(v)
	if s == nil {
		s = Default()
	}
	return Destination{devices: s.Placement().VariableDevices(v)}
}

// ToDevices stands for a list of devices.
func ToDevices(names ...string) Destination {
	list, err := parseDevices("destination", names)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("distribute: the destination has no device; name at least one")
	}
	return Destination{list, err}
}

// ReduceTo combines the replicas' values by Sum or Mean and returns one copy for each device of the destination.
func (e *Extended) ReduceTo(op ReduceOp, value PerReplica, to Destination) (PerReplica, error) {
	if to.err != nil {
		return nil, to.err
	}
	a, err := e.strategy.Reduce(op, value)
	if err != nil {
		return nil, err
	}
	return copies(a, len(to.devices)), nil
}

func copies(a kernels.Array, n int) PerReplica {
	out := make(PerReplica, n)
	for i := range out {
		out[i] = kernels.Array{Type: a.Type, Data: slices.Clone(a.Data)}
	}
	return out
}

// ValueDestination is one entry of BatchReduceTo.
type ValueDestination struct {
	Value PerReplica
	To    Destination
}

// BatchReduceTo is ReduceTo for several values.
func (e *Extended) BatchReduceTo(op ReduceOp, list []ValueDestination) ([]PerReplica, error) {
	out := make([]PerReplica, len(list))
	for i, entry := range list {
		var err error
		if out[i], err = e.ReduceTo(op, entry.Value, entry.To); err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
	}
	return out, nil
}

// BroadcastTo returns one copy of a for each device of the destination.
func (e *Extended) BroadcastTo(a kernels.Array, to Destination) (PerReplica, error) {
	if to.err != nil {
		return nil, to.err
	}
	return copies(a, len(to.devices)), nil
}

// Update calls f for each copy of the variable, in cross-replica context; assignments in f change that copy alone. args
// are unwrapped: a PerReplica gives each copy the value of its replica (if its length is 1, all copies get that value).
// Update returns the results of f, nil if f returns nil. It traces and compiles f on each call; in a step use
// [CrossReplica.Update].
func (e *Extended) Update(ctx context.Context, v *Variable, f func(u *Component, args ...*ops.Tensor) *ops.Tensor, args ...PerReplica) (PerReplica, error) {
	if v.Strategy() != nil && !e.VariableCreatedInScope(v) {
		return nil, v.Place(e.strategy, 0)
	}
	return e.onCopies(ctx, func(r *Replica, in []*ops.Tensor) *ops.Tensor {
		return f(r.ComponentOf(v), in...)
	}, args)
}

// onCopies runs f on every replica, in cross-replica context.
func (e *Extended) onCopies(ctx context.Context, f func(r *Replica, in []*ops.Tensor) *ops.Tensor, args []PerReplica) (PerReplica, error) {
	n := len(e.strategy.Devices())
	fn := exec.NewCrossFunction(e.strategy, "update", f)
	defer fn.Close()
	types := make([][]ir.Type, n)
	for k, arg := range args {
		if err := exec.CheckValue(fmt.Sprintf("Update: argument %d", k), arg, n); err != nil {
			return nil, err
		}
		for i := range n {
			types[i] = append(types[i], arg[min(i, len(arg)-1)].Type)
		}
	}
	inst, err := fn.Acquire(types, make([]int, n))
	if err != nil {
		return nil, err
	}
	defer fn.Release(inst)
	for i := range n {
		for k, arg := range args {
			if err := inst.Input(i, k).Write(arg[min(i, len(arg)-1)].Data); err != nil {
				return nil, err
			}
		}
	}
	if err := inst.Run(ctx, 0, 0); err != nil {
		return nil, err
	}
	return inst.Results()
}

// UpdateNonSlot runs f on the devices of NonSlotDevices, that is on every replica, and returns its results.
func (e *Extended) UpdateNonSlot(ctx context.Context, f func(r *Replica, args ...*ops.Tensor) *ops.Tensor, args ...PerReplica) (PerReplica, error) {
	return e.onCopies(ctx, func(r *Replica, in []*ops.Tensor) *ops.Tensor { return f(r, in...) }, args)
}
