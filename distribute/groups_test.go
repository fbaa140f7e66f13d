package distribute_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Replicas combine within groups, under strategies with communicators of several kinds.
func TestAllReduceGroups(t *testing.T) {
	devices := []string{"cpu:0", "cpu:1", "cpu:2", "cpu:3"}
	groups := [][]int{{3, 1}, {0, 2}}
	for _, o := range []distribute.CrossDeviceOps{nil, distribute.ReductionToOneDevice{}, distribute.HierarchicalCopyAllReduce{}, distribute.RingAllReduce{}} {
		t.Run(fmt.Sprintf("%T", o), func(t *testing.T) {
			s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: devices, CrossDeviceOps: o})
			require.NoError(t, err)
			f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
				x := ops.Add(in.X, ops.Cast(r.ID(), ir.Float32))
				sum := tpu.CrossReplicaSum(r, x, groups)
				highest := r.AllReduceGroups(ir.Max, groups, x)[0]
				all := tpu.CrossReplicaSum(r, x, nil)
				dx := ops.Grad(ops.Sum(ops.Square(sum)), in.X)[0]
				return ops.Concatenate(1, sum, highest, all, dx)
			})
			out := runOn(t, s, f, 10, 20, 30, 40)
			// Replica i has 10(i+1) + i: 10, 21, 32, 43.
			for i, want := range [][]float64{{42, 32, 106, 168}, {64, 43, 106, 256}, {42, 32, 106, 168}, {64, 43, 106, 256}} {
				require.Equal(t, want, out[i].Float64s(), "replica %d", i)
			}
		})
	}
}

// runOn runs a function on one number of each replica.
func runOn(t *testing.T, s distribute.Strategy, f *distribute.Function, x ...float64) distribute.PerReplica {
	t.Helper()
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Float32, ir.Shape{len(x), 1}, x...)}})
	require.NoError(t, err)
	out, err := s.Run(t.Context(), f, batch)
	require.NoError(t, err)
	return out
}

// Groups that do not fit the replicas are an error when the step is traced.
func TestAllReduceGroupsMistakes(t *testing.T) {
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	for _, c := range []struct {
		groups  [][]int
		message string
	}{
		{[][]int{{0}}, "expected each of the replicas 0 to 1 once"},
		{[][]int{{0, 2}}, "expected each of the replicas 0 to 1 once"},
		{[][]int{{0}, {0}}, "expected each of the replicas 0 to 1 once"},
		{[][]int{{0, 1}, {}}, "expected groups of one length"},
		{[][]int{}, "expected each of the replicas 0 to 1 once"},
	} {
		f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			return r.AllReduceGroups(ir.Sum, c.groups, in.X)[0]
		})
		batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Float32, ir.Shape{2, 1}, 1, 2)}})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), f, batch)
		require.ErrorContains(t, err, c.message)
	}
}
