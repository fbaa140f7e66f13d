package distribute_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Whatever goes wrong in replica code is an error of the run; nothing hangs, nothing is left running, and the strategy
// goes on working.
func TestMistakesInReplicaCode(t *testing.T) {
	before := runtime.NumGoroutine()
	s := mirrored(t, 3)
	local, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "local", DType: ir.Float32, Synchronization: distribute.OnRead})
	require.NoError(t, err)
	cause := errors.New("the cause")
	uneven := distribute.PerReplica{array(t, ir.Float32, ir.Shape{2}, 1, 2), array(t, ir.Float32, ir.Shape{2}, 1, 2), array(t, ir.Float32, ir.Shape{1}, 1)}
	for text, f := range map[string]func(r *distribute.Replica, x *ops.Tensor) any{
		"the step function panicked: the cause": func(*distribute.Replica, *ops.Tensor) any { panic(cause) },
		"the step function panicked: runtime error: index out of range": func(_ *distribute.Replica, x *ops.Tensor) any {
			return []int{1}[x.Dim(0)]
		},
		"replica 2: lists of 0 and 1 elements": func(_ *distribute.Replica, x *ops.Tensor) any { return make([]any, 2-x.Dim(0)) },
		"replica 2 makes 1 collective calls and replica 0 only 0": func(r *distribute.Replica, x *ops.Tensor) any {
			if x.Dim(0) == 1 {
				return r.AllReduce(ir.Sum, x)[0]
			}
			return x
		},
		"collective call 0 is all_reduce [float32[]] by sum on replica 0": func(r *distribute.Replica, x *ops.Tensor) any {
			kind := ir.Kind(ir.Sum)
			if x.Dim(0) == 1 {
				kind = ir.Mean
			}
			return r.AllReduce(kind, ops.Sum(x))[0]
		},
		"variable local is synchronized on read but has the aggregation None": func(r *distribute.Replica, _ *ops.Tensor) any {
			return r.MergeCall(func(c *distribute.CrossReplica, _ ...*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{c.Read(local)} })[0]
		},
		"cannot be assigned across replicas": func(r *distribute.Replica, _ *ops.Tensor) any {
			r.MergeCall(func(c *distribute.CrossReplica, _ ...*ops.Tensor) []*ops.Tensor {
				c.Assign(local, ops.Ones(r, ir.Float32))
				return nil
			})
			return nil
		},
		"cannot be assigned nil": func(r *distribute.Replica, _ *ops.Tensor) any { r.Assign(local, nil); return nil },
		"variable local has shape []": func(r *distribute.Replica, _ *ops.Tensor) any {
			r.Assign(local, ops.Ones(r, ir.Float32, 4))
			return nil
		},
		"indexed slices need indices": func(r *distribute.Replica, _ *ops.Tensor) any {
			r.AllReduceSlices(distribute.Sum, distribute.IndexedSlices{})
			return nil
		},
		"all_gather 0: replica 0 joins along axis": func(r *distribute.Replica, x *ops.Tensor) any {
			return r.AllGather(ops.Ones(r, ir.Float32, 1, 1), x.Dim(0)-1)
		},
	} {
		fn := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any { return f(r, args[0].(*ops.Tensor)) })
		_, err := fn.Run(t.Context(), uneven)
		require.ErrorContains(t, err, text)
		require.Equal(t, text == "the step function panicked: the cause", errors.Is(err, cause))
		fn.Close()
	}
	got, err := onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(ir.Sum, ops.Sum(x))[0] }, uneven)
	require.NoError(t, err)
	require.Equal(t, []float64{7, 7, 7}, flat(got))
	settled(t, before)
}
