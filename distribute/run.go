package distribute

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
)

func (s *local) Function(f StepFunction) *Function { return exec.NewStepFunction(s.self, f) }

// Run computes f on every replica; see [Strategy]. Random ops get a new step number on each call.
func (s *local) Run(ctx context.Context, f *Function, batch PerReplicaBatch) (PerReplica, error) {
	if f.Strategy() != s.self {
		return nil, fmt.Errorf("distribute: the function belongs to %v and cannot run under another strategy, %v; make it with the strategy that runs it", f.Strategy(), s)
	}
	return f.RunBatch(ctx, batch)
}

// SplitBatch divides a global batch into one part per replica along axis 0. All of its arrays must have this axis, with
// the same length. The parts share the batch's memory.
func SplitBatch(s Strategy, global HostBatch) (PerReplicaBatch, error) {
	if s == nil {
		return nil, errNoStrategy
	}
	n := global.Examples()
	for i, a := range global.Arrays() {
		if rowsOf(a) != n || len(a.Data) != a.Type.Bytes() {
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
				parts[j] = a.Slice(from, from+n)
			}
			return parts
		}
		out[i] = HostBatch{X: cut(global.X), Y: cut(global.Y), SampleWeight: cut(global.SampleWeight)}
		from += n
	}
	return out, nil
}

// rowsOf returns the length of the first axis, -1 for a scalar.
func rowsOf(a kernels.Array) int {
	if len(a.Type.Shape) == 0 {
		return -1
	}
	return a.Type.Shape[0]
}
