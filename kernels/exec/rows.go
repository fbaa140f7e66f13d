package exec

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Rows returns how many rows each replica has in memory for parts of a batch with the given numbers of examples. That
// is the number of examples, but if the replicas run one program, all have as many rows as the longest part;
// [Replica.Rows] tells which are padding.
func (f *Function) Rows(parts []int) []int {
	if !f.strategy.Placement().Lockstep || even(parts) {
		return parts
	}
	return ints.Repeat(slices.Max(parts), len(parts))
}

func even(parts []int) bool {
	return !slices.ContainsFunc(parts, func(n int) bool { return n != parts[0] })
}

// checkLockstep refuses inputs of different types if all replicas run one program.
func (f *Function) checkLockstep(types [][]ir.Type) error {
	if !f.strategy.Placement().Lockstep {
		return nil
	}
	for i, t := range types {
		if !slices.EqualFunc(t, types[0], ir.Type.Equal) {
			return fmt.Errorf("distribute: %s: the batch has the shapes %v on replica 0 and %v on replica %d; the replicas of %v run one program, with the same shapes: make batches that divide evenly (data's DropRemainder)", f.name, types[0], t, i, f.strategy)
		}
	}
	return nil
}

// Rows says which rows of the inputs are examples, a bool (local batch); nil if all are. Replicas that run one program
// have as many rows as the longest part of the batch, LocalBatchSize. The rows that pad a part are copies of an example
// and must not count. GlobalBatchSize is the number of examples. Losses, metrics and batch normalization leave the
// padding out.
func (r *Replica) Rows() *ops.Tensor {
	if r.parts == nil {
		return nil
	}
	numbers := make([]float64, len(r.parts))
	for i, n := range r.parts {
		numbers[i] = float64(n)
	}
	own := ops.Take(ops.Constant(r.graph, ir.Int32, ir.Shape{len(numbers)}, numbers), r.ID(), 0)
	return ops.Less(ops.Arange(r.graph, ir.Int32, r.local), own)
}

// RowWeights is Rows as numbers 1 and 0, for functions that take sample weights; nil if all rows are examples. All
// calls in one trace return the same tensor.
func (r *Replica) RowWeights() *ops.Tensor {
	if r.rowWeights == nil && r.parts != nil {
		r.rowWeights = ops.Cast(r.Rows(), ir.Float32)
	}
	return r.rowWeights
}
