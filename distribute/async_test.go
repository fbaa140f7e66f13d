package distribute_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// A function releases all that it has on its devices, and uses the communicators of its strategy.
func TestFunctionsLeaveNothingOnDevices(t *testing.T) {
	b := async.Shared()
	s, err := distribute.NewMirroredStrategy("async:0", "async:1")
	require.NoError(t, err)
	before := b.Stats()
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", Shape: ir.Shape{3}, DType: ir.Float32})
	require.NoError(t, err)
	for range 2 {
		f := distribute.NewFunction(s, "sum", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			sum := r.AllReduce(ir.Sum, in[0])[0]
			r.AssignMirrored(v, ops.Add(r.Read(v), sum))
			return []*ops.Tensor{sum}
		})
		for rows := 1; rows < 20; rows++ { // more shapes than are kept
			types := []ir.Type{{DType: ir.Float32, Shape: ir.Shape{3}}, {DType: ir.Float32, Shape: ir.Shape{rows}}}
			inst, err := f.Acquire([][]ir.Type{types, types}, []int{rows, rows})
			require.NoError(t, err)
			one, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3}, []float64{1, 2, 3})
			require.NoError(t, err)
			for replica := range 2 {
				require.NoError(t, inst.Input(replica, 0).Write(one.Data))
			}
			require.NoError(t, inst.Launch(t.Context(), 0, 0))
			require.NoError(t, inst.Launch(t.Context(), 0, 0))
			f.Release(inst)
		}
		require.NoError(t, f.Wait())
		f.Close()
	}
	value, err := v.Value()
	require.NoError(t, err)
	require.Equal(t, []float64{152, 304, 456}, value.Float64s(), "2 functions, 19 shapes, 2 launches, 2 replicas")
	v.Free()
	after := b.Stats()
	require.EqualValues(t, 2, after.Connections-before.Connections, "one set of communicators for all programs")
	after.Connections = before.Connections // they live as long as the strategy
	require.NoError(t, after.Leaks(before))
}
