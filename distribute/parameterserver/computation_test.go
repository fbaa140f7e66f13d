package parameterserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestComputedConstraint: a server applies the program of a user's constraint to the whole of a variable, also after it
// came back from its log and from a snapshot, and a later coordinator that traces it again finds the variable. A
// program that fails in the midst of training ends the server's promises, not its values.
func TestComputedConstraint(t *testing.T) {
	c := newCluster(t, 1, 2, func(o *parameterserver.Options) {
		o.VariablePartitioner, o.LogBytes = partitioners.FixedShards{Shards: 2}, 600
	})
	j := c.coordinate()
	shape := ir.Shape{4, 2}
	create := func(j parameters.Job, limit float64) (*parameters.Variable, bool, error) {
		bound, err := parameters.ComputedConstraint(shape, func(w *ops.Tensor) *ops.Tensor {
			return ops.Minimum(w, ops.BroadcastTo(ops.AddScalar(ops.Mean(w), limit), shape...))
		})
		require.NoError(t, err)
		return j.Create(t.Context(), parameters.Spec{Name: "v", Shape: shape, Rule: parameters.Rule{Kind: parameters.SGD}, Constraint: bound})
	}
	v, created, err := create(j, 1)
	require.NoError(t, err)
	require.True(t, created)
	require.Len(t, v.Shards, 1, "a program sees all rows")
	want := make([]float32, 8)
	push := func(j parameters.Job, v *parameters.Variable) {
		t.Helper()
		require.NoError(t, j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Gradient, Rate: 1, IDs: []int64{1}, Values: []float32{-8, 1}}))
		want[2], want[3] = want[2]+8, want[3]-1
		mean := float32(0)
		for _, x := range want {
			mean += x / 8
		}
		for i := range want {
			want[i] = min(want[i], mean+1)
		}
		require.Equal(t, want, value(t, j, v))
	}
	for range 3 { // beyond the length of a log
		push(j, v)
		c.servers[v.Shards[0].Server].Close()
		c.startServer(v.Shards[0].Server)
		push(j, v)
	}
	other := c.coordinate()
	v, created, err = create(other, 1)
	require.NoError(t, err)
	require.False(t, created)
	push(other, v)
	_, _, err = create(other, 2)
	require.ErrorContains(t, err, "table v exists with another shape, rule, constraint or initializer")
}

// TestFailingConstraint: a constraint that fails stops the server, which does not acknowledge what it has not done.
func TestFailingConstraint(t *testing.T) {
	c := newCluster(t, 1, 1, nil)
	j := c.coordinate()
	bound, err := parameters.ComputedConstraint(ir.Shape{2}, func(w *ops.Tensor) *ops.Tensor { return ops.Take(w, ops.Cast(w, ir.Int32), 0) })
	require.NoError(t, err)
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2}, Rule: parameters.Rule{Kind: parameters.SGD}, Constraint: bound})
	require.NoError(t, err)
	push := func(g float32) error {
		return j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Gradient, Rate: 1, Values: []float32{g, 0}})
	}
	require.NoError(t, push(-1))
	require.ErrorContains(t, push(-7), "table v: its constraint failed: ")
	require.ErrorContains(t, push(0), "table v: its constraint failed: ")
}
