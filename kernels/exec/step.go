package exec

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Batch is a step function's view of one replica's part of a batch. X, Y and SampleWeight are the first of each kind
// (nil if there is none); Xs, Ys and SampleWeights are all of them.
type Batch struct {
	X, Y, SampleWeight    *ops.Tensor
	Xs, Ys, SampleWeights []*ops.Tensor
}

// HostBatch is one replica's part of a batch in host memory.
type HostBatch struct {
	X, Y, SampleWeight []kernels.Array
}

// PerReplicaBatch is a global batch divided into one part per replica.
type PerReplicaBatch []HostBatch

// StepFunction is the body of a custom training loop on one replica. It may return nil.
type StepFunction func(r *Replica, in Batch) *ops.Tensor

// NewStepFunction prepares the body of a custom loop for a strategy.
func NewStepFunction(s Strategy, f StepFunction) *Function {
	fn := &Function{strategy: inside(s), name: "step"}
	fn.step = func(n counts) TraceFunc {
		return func(r *Replica, in []*ops.Tensor) []*ops.Tensor {
			b := Batch{Xs: in[:n.x], Ys: in[n.x : n.x+n.y], SampleWeights: in[n.x+n.y:]}
			b.X, b.Y, b.SampleWeight = first(b.Xs), first(b.Ys), first(b.SampleWeights)
			var out *ops.Tensor
			guarded(r, func() { out = f(r, b) })
			if out == nil {
				return nil
			}
			return []*ops.Tensor{out}
		}
	}
	return fn
}

func first(ts []*ops.Tensor) *ops.Tensor {
	if len(ts) == 0 {
		return nil
	}
	return ts[0]
}

// Arrays lists all parts of the batch in the order of a function's inputs.
func (b HostBatch) Arrays() []kernels.Array {
	all := append(append([]kernels.Array{}, b.X...), b.Y...)
	return append(all, b.SampleWeight...)
}

// Examples is the length of the first axis.
func (b HostBatch) Examples() int {
	if len(b.X) == 0 || len(b.X[0].Type.Shape) == 0 {
		return 0
	}
	return b.X[0].Type.Shape[0]
}

// RunBatch computes the function on every replica, each with its part of the batch, and returns result 0. Random ops
// get a new step number on each call.
func (f *Function) RunBatch(ctx context.Context, batch PerReplicaBatch) (PerReplica, error) {
	if n := len(f.strategy.Devices()); len(batch) != n {
		return nil, fmt.Errorf("distribute: %v has %d replicas, received a batch cut into %d parts; cut it with SplitBatch", f.strategy, n, len(batch))
	}
	types := make([][]ir.Type, len(batch))
	sizes := make([]int, len(batch))
	for i, b := range batch {
		if err := f.bind(b); err != nil {
			return nil, err
		}
		sizes[i] = b.Examples()
		for j, a := range b.Arrays() {
			if n := rows(a); n != sizes[i] && n >= 0 {
				return nil, fmt.Errorf("distribute: array %d of the batch (inputs, targets, sample weights) has %d examples on replica %d and array 0 has %d; all need the same number", j, n, i, sizes[i])
			}
			types[i] = append(types[i], a.Type)
		}
	}
	inst, err := f.acquireBatch(types, sizes)
	if err != nil {
		return nil, err
	}
	defer f.Release(inst)
	for i, b := range batch {
		for j, a := range b.Arrays() {
			if err := inst.Input(i, j).Write(a.Data); err != nil {
				return nil, err
			}
		}
	}
	if err := inst.Run(ctx, f.Seed, f.steps.Add(1)-1); err != nil {
		f.strategy.Placement().Fail(err)
		return nil, err
	}
	return inst.Results()
}

// counts says how many arrays of each kind a batch has.
type counts struct{ x, y, weights int }

func (c counts) String() string {
	return fmt.Sprintf("%d inputs, %d targets and %d sample weights", c.x, c.y, c.weights)
}

// bind fixes how many inputs are x, y and sample weights, on the first run.
func (f *Function) bind(b HostBatch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := counts{len(b.X), len(b.Y), len(b.SampleWeight)}
	switch {
	case f.step == nil: // made by NewFunction, which accepts any inputs
	case f.trace == nil:
		f.trace, f.inputs = f.step(n), n
	case f.inputs != n:
		return fmt.Errorf("distribute: the function was first run with %v, received %v; make another function for other data", f.inputs, n)
	}
	return nil
}

// Results copies result 0 of every replica. Without results it returns nil.
func (inst *Instance) Results() (PerReplica, error) {
	if len(inst.replicas[0].results) == 0 {
		return nil, nil
	}
	out := make(PerReplica, len(inst.replicas))
	for i := range inst.replicas {
		b := inst.Output(i, 0)
		out[i] = kernels.NewArray(b.Type())
		if err := b.Read(out[i].Data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rows is the length of the first axis, -1 for a scalar.
func rows(a kernels.Array) int {
	if len(a.Type.Shape) == 0 {
		return -1
	}
	return a.Type.Shape[0]
}
