package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func array(t testing.TB, shape ir.Shape, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(ir.Float32, shape, values)
	require.NoError(t, err)
	return a
}

// one is the value of this worker's replica.
func one(t testing.TB, shape ir.Shape, values ...float64) distribute.PerReplica {
	return distribute.PerReplica{array(t, shape, values...)}
}

// rows repeats a value.
func rows(t testing.TB, n int, value float64) distribute.PerReplica {
	return one(t, ir.Shape{n}, slices.Repeat([]float64{value}, n)...)
}

// x is base + id, as the cases call it.
func (w *worker) x() float64 { return 1 + float64(w.task.Index) }

// call runs f on this worker's replica with a value.
func (w *worker) call(t testing.TB, f func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor, value distribute.PerReplica) ([]float64, error) {
	t.Helper()
	fn := distribute.NewNestFunction(w.s, func(r *distribute.Replica, args ...any) any {
		if out := f(r, args[0].(*ops.Tensor)); out != nil {
			return out
		}
		return nil
	})
	defer fn.Close()
	out, err := fn.Run(t.Context(), value)
	if err != nil || out == nil {
		return nil, err
	}
	return out.(distribute.PerReplica)[0].Float64s(), nil
}

func identity(t *testing.T, w *worker, c *tfvectors.Case) {
	want := w.own(t, c).(map[string]any)
	id, err := w.call(t, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor { return r.ID() }, rows(t, 1, 0))
	require.NoError(t, err)
	c.Close(t, "replica", want["replica_id"], id)
	require.Equal(t, want["num_replicas_in_sync"], float64(w.s.NumReplicasInSync()))
	require.Equal(t, []any{want["task_type"], want["task_id"]}, []any{w.task.Type, float64(w.task.Index)})
	require.Equal(t, []any{want["is_chief_should_checkpoint"], want["should_save_summary"]}, []any{w.s.IsChief(), w.s.IsChief()})
	require.Equal(t, want["local_results_length"], float64(len(distribute.PerReplica{array(t, ir.Shape{1}, 0)})))
}

func variable(t testing.TB, w *worker, spec distribute.VariableSpec, values ...float64) *distribute.Variable {
	t.Helper()
	spec.DType, spec.Shape = ir.Float32, ir.Shape{len(values)}
	if spec.Name == "" {
		spec.Name = "v"
	}
	v, err := distribute.Scope(w.s).NewVariable(spec)
	require.NoError(t, err)
	require.NoError(t, v.Assign(array(t, spec.Shape, values...)))
	return v
}

func broadcast(t *testing.T, w *worker, c *tfvectors.Case) {
	rank := float64(w.task.Index)
	v := variable(t, w, distribute.VariableSpec{}, 1+rank, 10*rank)
	require.NoError(t, distribute.BroadcastVariables(t.Context(), w.s, distribute.Variables{v}))
	a, err := v.Value()
	require.NoError(t, err)
	c.Close(t, "variable", tfvectors.Get(w.own(t, c), 0), a.Float64s())
}

func reduce(t *testing.T, w *worker, c *tfvectors.Case) {
	want, n := w.own(t, c).(map[string]any), w.task.Index
	scalar := func(v float64) distribute.PerReplica { return one(t, ir.Shape{}, v) }
	check := func(name string, op distribute.ReduceOp, v distribute.PerReplica, axes ...int) {
		a, err := w.s.Reduce(op, v, axes...)
		require.NoError(t, err)
		require.Contains(t, want, name)
		c.Close(t, name, want[name], a.Float64s())
	}
	check("SUM", distribute.Sum, scalar(w.x()))
	check("MEAN", distribute.Mean, scalar(w.x()))
	check("SUM_plain", distribute.Sum, scalar(1)) // a plain value counts once for each worker
	check("SUM_plain_differs", distribute.Sum, scalar(w.x()))
	check("MEAN_plain", distribute.Mean, scalar(1))
	check("SUM_axis0", distribute.Sum, one(t, ir.Shape{2}, 1, w.x()), 0)
	check("MEAN_uneven_axis0", distribute.Mean, rows(t, n+1, w.x()), 0)
}

func gather(t *testing.T, w *worker, c *tfvectors.Case) {
	want, n := w.own(t, c).(map[string]any), w.task.Index
	check := func(name string, v distribute.PerReplica, axis int) {
		a, err := w.s.Gather(v, axis)
		require.NoError(t, err)
		shape, _ := tfvectors.Floats(t, want[name])
		require.Equal(t, shape, []int(a.Type.Shape))
		c.Close(t, name, want[name], a.Float64s())
	}
	check("even0", one(t, ir.Shape{1, 2}, w.x(), 0), 0)
	check("uneven0", one(t, ir.Shape{n + 1, 1}, slices.Repeat([]float64{w.x()}, n+1)...), 0)
	check("axis1", one(t, ir.Shape{1, 1}, w.x()), 1)
	all, err := w.call(t, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllGather(x, 0) }, rows(t, n+1, w.x()))
	require.NoError(t, err)
	c.Close(t, "all_gather", tfvectors.Get(want, "all_gather", 0), all)
}

func allReduce(t *testing.T, w *worker, c *tfvectors.Case) {
	want := w.own(t, c).(map[string]any)
	for _, name := range []string{"SUM", "MEAN"} { // in one order on all workers
		kind := map[string]ir.Kind{"SUM": ir.Sum, "MEAN": ir.Mean}[name]
		got, err := w.call(t, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(kind, x)[0] }, one(t, ir.Shape{2}, w.x(), 1))
		require.NoError(t, err)
		c.Close(t, name, tfvectors.Get(want, name, 0), got)
	}
	// Sparse values are dense here: the rows that TensorFlow lists one by one are added up.
	dense := make([]float64, 10)
	for i, at := range tfvectors.Values(t, tfvectors.Get(want, "sparse_SUM", 1)) {
		for j, v := range tfvectors.Values(t, tfvectors.Get(want, "sparse_SUM", 0, i)) {
			dense[2*int(at)+j] += v
		}
	}
	own := make([]float64, 10)
	own[2], own[3] = w.x(), 1
	got, err := w.call(t, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(ir.Sum, x)[0] }, one(t, ir.Shape{5, 2}, own...))
	require.NoError(t, err)
	require.Equal(t, dense, got)
}

func variables(t *testing.T, w *worker, c *tfvectors.Case) {
	want := w.own(t, c).(map[string]any)
	synchronizations := map[string]distribute.VariableSynchronization{"ON_WRITE": distribute.OnWrite, "ON_READ": distribute.OnRead}
	aggregations := map[string]distribute.VariableAggregation{"NONE": distribute.None, "SUM": distribute.Sum, "MEAN": distribute.Mean, "ONLY_FIRST_REPLICA": distribute.OnlyFirstReplica}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names) // in one order on all workers
	for _, name := range names {
		s, a, _ := strings.Cut(name, ".")
		want := want
		if a == "ONLY_FIRST_REPLICA" { // the first of all replicas; TensorFlow takes each worker's own first one, so that the copies differ
			want = tfvectors.Get(c.Expected, 0).(map[string]any)
			if s == "ON_READ" && w.task.Index > 0 { // what a replica reads is its own
				want = map[string]any{name: map[string]any{
					"after_replica_assign_add":   tfvectors.Get(w.own(t, c), name, "after_replica_assign_add"),
					"cross_replica_read":         tfvectors.Get(want, name, "cross_replica_read"),
					"after_cross_replica_assign": tfvectors.Get(w.own(t, c), name, "after_cross_replica_assign"),
				}}
			}
		}
		v := variable(t, w, distribute.VariableSpec{Name: name, Synchronization: synchronizations[s], Aggregation: aggregations[a]}, 5)
		if name == "ON_READ.SUM" { // each replica holds its part, as after an assignment in TensorFlow
			require.NoError(t, v.Assign(array(t, ir.Shape{1}, 5*float64(w.n))))
		}
		local, err := w.call(t, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { r.AssignAdd(v, x); return r.Read(v) }, rows(t, 1, w.x()))
		require.NoError(t, err, name)
		c.Close(t, name+" after assign_add", tfvectors.Get(want, name, "after_replica_assign_add"), local)
		read, err := v.Value()
		if expected := tfvectors.Get(want, name, "cross_replica_read"); tfvectors.IsError(expected) {
			require.Error(t, err, name)
			continue
		} else {
			require.NoError(t, err, name)
			c.Close(t, name+" read", expected, read.Float64s())
		}
		require.NoError(t, v.Assign(array(t, ir.Shape{1}, 12)))
		local, err = w.call(t, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor { return r.Read(v) }, rows(t, 1, 0))
		require.NoError(t, err, name)
		c.Close(t, name+" after assign", tfvectors.Get(want, name, "after_cross_replica_assign"), local)
	}
}

// shapeMismatch must fail everywhere, at once.
func shapeMismatch(t *testing.T, w *worker, c *tfvectors.Case) {
	require.True(t, tfvectors.IsError(w.own(t, c)))
	_, err := w.call(t, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(ir.Sum, x)[0] }, rows(t, w.task.Index+1, 1))
	require.Error(t, err)
	var lost *collective.MemberError
	require.NotErrorAs(t, err, &lost)
}

// afterShapeMismatch works here, where TensorFlow's process is lost.
func afterShapeMismatch(t *testing.T, w *worker, c *tfvectors.Case) {
	require.True(t, tfvectors.IsError(w.own(t, c)))
	got, err := w.call(t, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(ir.Sum, x)[0] }, one(t, ir.Shape{}, 1))
	require.NoError(t, err)
	require.Equal(t, []float64{float64(w.n)}, got)
}
