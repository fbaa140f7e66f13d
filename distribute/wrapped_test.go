package distribute

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// renamed is a strategy under another name.
type renamed struct{ Strategy }

func (renamed) String() string { return "renamed" }

// threeWorkers is the group of the second of three workers that never meets the others.
type threeWorkers struct{ WorkerGroup }

func (threeWorkers) Rank() int                               { return 1 }
func (threeWorkers) Size() int                               { return 3 }
func (threeWorkers) Agree(context.Context, WorkerCall) error { return nil }

// A value that embeds a strategy stands for it: replicas of all processes, the group, and what belongs to it.
func TestWrappedStrategyStandsForTheOneInside(t *testing.T) {
	workers, err := NewMultiWorkerMirroredStrategyOver(MultiWorkerOptions{MirroredOptions: MirroredOptions{Devices: []string{"cpu:0", "cpu:1"}}, Group: threeWorkers{}})
	require.NoError(t, err)
	w := renamed{workers}
	require.Equal(t, 6, w.NumReplicasInSync())
	require.NotNil(t, WorkersOf(w))
	parts, first := SplitOverWorkers(w, 12)
	require.Equal(t, []int{2, 2, 2, 2, 2, 2}, parts)
	require.Equal(t, 2, first)
	f := NewFunction(w, "f", nil)
	require.Equal(t, Strategy(workers), StrategyOf(f))
	parts, first = f.Split(12)
	require.Equal(t, []int{2, 2, 2, 2, 2, 2}, parts)
	require.Equal(t, 2, first)

	two, err := NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	outer := renamed{two}
	v, err := Scope(outer).NewVariable(VariableSpec{Name: "v", Shape: ir.Shape{1}, DType: ir.Float32})
	require.NoError(t, err)
	require.Equal(t, two, StrategyOf(v))
	require.NoError(t, v.Place(outer, 0), "the same strategy again")
	_, err = Nest(outer, two)
	require.NoError(t, err)
	require.False(t, HasStrategy(renamed{Default()}))
	step := outer.Function(func(r *Replica, in Batch) *ops.Tensor {
		r.AssignMirrored(v, r.AllReduce(ir.Sum, ops.Cast(in.X, ir.Float32))[0])
		return r.Read(v)
	})
	one, err := kernels.FromFloat64s(ir.Float32, ir.Shape{1}, []float64{3})
	require.NoError(t, err)
	got, err := outer.Run(t.Context(), step, PerReplicaBatch{{X: []kernels.Array{one}}, {X: []kernels.Array{one}}})
	require.NoError(t, err)
	require.Equal(t, 6.0, got[1].Element(0))
}
