package distribute

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Batch is what a step function sees of one replica's part of a batch. X, Y and SampleWeight are the first of each kind (nil
// where there is none); Xs, Ys and SampleWeights are all.
type Batch struct {
	X, Y, SampleWeight    *ops.Tensor
	Xs, Ys, SampleWeights []*ops.Tensor
}

// HostBatch is one replica's part of a batch in host memory.
type HostBatch struct {
	X, Y, SampleWeight []kernels.Array
}

// PerReplicaBatch is a global batch cut into one part a replica.
type PerReplicaBatch []HostBatch

// StepFunction is the body of a custom training loop on one replica. It may return nil.
type StepFunction func(r *Replica, in Batch) *ops.Tensor

func (s *local) Function(f StepFunction) *Function { return stepFunction(s.self, f) }

func stepFunction(s Strategy, f StepFunction) *Function {
	fn := &Function{strategy: s, name: "step"}
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

// arrays lists all parts of the batch in the order of a function's inputs.
func (b HostBatch) arrays() []kernels.Array {
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

// Run computes f on every replica; see [Strategy]. Random ops get a new step number on each call.
func (s *local) Run(ctx context.Context, f *Function, batch PerReplicaBatch) (PerReplica, error) {
	if f.strategy != s.self {
		return nil, fmt.Errorf("distribute: the function belongs to %v and cannot run under another strategy, %v; make it with the strategy that runs it", f.strategy, s)
	}
	if len(batch) != len(s.devices) {
		return nil, fmt.Errorf("distribute: %v has %d replicas, received a batch cut into %d parts; cut it with SplitBatch", s, len(s.devices), len(batch))
	}
	types := make([][]ir.Type, len(batch))
	sizes := make([]int, len(batch))
	for i, b := range batch {
		if err := f.bind(b); err != nil {
			return nil, err
		}
		sizes[i] = b.Examples()
		for j, a := range b.arrays() {
			if n := rows(a); n != sizes[i] && n >= 0 {
				return nil, fmt.Errorf("distribute: array %d of the batch (inputs, targets, sample weights) has %d examples on replica %d and array 0 has %d; all need the same number", j, n, i, sizes[i])
			}
			types[i] = append(types[i], a.Type)
		}
	}
	inst, err := f.Acquire(types, sizes)
	if err != nil {
		return nil, err
	}
	defer f.Release(inst)
	for i, b := range batch {
		for j, a := range b.arrays() {
			if err := inst.Input(i, j).Write(a.Data); err != nil {
				return nil, err
			}
		}
	}
	if err := inst.Run(ctx, f.Seed, f.steps.Add(1)-1); err != nil {
		FailTogether(s.self, err)
		return nil, err
	}
	return inst.results()
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
	case f.step == nil: // made by NewFunction: takes whatever comes
	case f.trace == nil:
		f.trace, f.inputs = f.step(n), n
	case f.inputs != n:
		return fmt.Errorf("distribute: the function was first run with %v, received %v; make another function for other data", f.inputs, n)
	}
	return nil
}

// results copies result 0 of every replica; none gives nil.
func (inst *Instance) results() (PerReplica, error) {
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

// SplitBatch cuts a global batch into one part a replica along axis 0, which all of its arrays need, with one length. The parts
// share the batch's memory.
func SplitBatch(s Strategy, global HostBatch) (PerReplicaBatch, error) {
	n := global.Examples()
	for i, a := range global.arrays() {
		if rows(a) != n || len(a.Data) != a.Type.Bytes() {
			return nil, fmt.Errorf("distribute: SplitBatch: array %d of the batch (inputs, targets, sample weights) is %v with %d bytes; expected %d examples on axis 0, as in array 0", i, a.Type, len(a.Data), n)
		}
	}
	all, first := SplitOverWorkers(s, n)
	from := 0
	for _, n := range all[:first] {
		from += n
	}
	sizes := all[first : first+len(s.Devices())]
	out := make(PerReplicaBatch, len(sizes))
	for i, n := range sizes {
		cut := func(arrays []kernels.Array) []kernels.Array {
			parts := make([]kernels.Array, len(arrays))
			for j, a := range arrays {
				parts[j] = a.Rows(from, from+n)
			}
			return parts
		}
		out[i] = HostBatch{X: cut(global.X), Y: cut(global.Y), SampleWeight: cut(global.SampleWeight)}
		from += n
	}
	return out, nil
}
