package multiworker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// numbers makes an array (n, 2) whose elements count from first.
func numbers(n, first int) kernels.Array {
	values := make([]float64, 2*n)
	for i := range values {
		values[i] = float64(first + i)
	}
	a, _ := kernels.FromFloat64s(ir.Float64, ir.Shape{n, 2}, values)
	return a
}

// found is what a worker, or a strategy in one process, computes. Lists by replica hold those of the worker.
type found struct {
	Replicas, First int
	Shared          map[string][]float64   // the same everywhere
	Own             map[string][][]float64 // by replica
}

// valuesOf calls everything that combines values, on four replicas wherever they are.
func valuesOf(ctx context.Context, s distribute.Strategy) (*found, error) {
	out := &found{Replicas: s.NumReplicasInSync(), Shared: map[string][]float64{}, Own: map[string][][]float64{}}
	var list distribute.Variables
	for _, a := range []distribute.VariableAggregation{distribute.Sum, distribute.Mean, distribute.OnlyFirstReplica} {
		v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: string(a), Shape: ir.Shape{2}, DType: ir.Float64, Synchronization: distribute.OnRead, Aggregation: a})
		if err != nil {
			return nil, err
		}
		start, _ := kernels.FromFloat64s(ir.Float64, ir.Shape{2}, []float64{8, 2})
		if err := v.Assign(start); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	// Parts of 3, 3, 3 and 1 examples.
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{numbers(10, 1)}})
	if err != nil {
		return nil, err
	}
	run := func(name string, f distribute.StepFunction) (distribute.PerReplica, error) {
		fn := s.Function(f)
		defer fn.Close()
		r, err := s.Run(ctx, fn, batch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, a := range r {
			out.Own[name] = append(out.Own[name], a.Float64s())
		}
		return r, nil
	}
	sum := func(x *ops.Tensor) *ops.Tensor { return ops.Sum(x, 0) }
	part, err := run("own sum", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor { return sum(in.X) })
	if err != nil {
		return nil, err
	}
	for _, op := range []distribute.ReduceOp{distribute.Sum, distribute.Mean} {
		a, err := s.Reduce(op, part)
		if err != nil {
			return nil, err
		}
		out.Shared["reduce "+string(op)] = a.Float64s()
	}
	steps := []struct {
		name string
		f    distribute.StepFunction
	}{
		{"all reduce", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			x := sum(in.X)
			return ops.Stack(0, r.AllReduce(ir.Sum, x)[0], r.AllReduce(ir.Mean, x)[0], r.AllReduce(ir.Max, x)[0], r.AllReduce(ir.Min, x)[0])
		}},
		{"uneven all gather", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor { return r.AllGather(in.X, 0) }},
		{"all gather along axis 1", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			return r.AllGather(ops.Reshape(ops.Concatenate(0, sum(in.X), sum(ops.MultiplyScalar(in.X, 2))), 2, 2), 1)
		}},
		{"broadcast from replica 3", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			return ops.CollectiveBroadcast(sum(in.X), 3, r.NumReplicasInSync())
		}},
		{"number", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor { return r.ID() }},
		{"sizes", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			return ops.Constant(in.X, ir.Float64, ir.Shape{2}, []float64{float64(r.LocalBatchSize()), float64(r.GlobalBatchSize())})
		}},
		{"assign", func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			for _, v := range list {
				r.AssignAdd(v, sum(in.X))
			}
			return nil
		}},
	}
	for _, step := range steps {
		if _, err := run(step.name, step.f); err != nil {
			return nil, err
		}
	}
	for _, v := range list {
		a, err := v.Value()
		if err != nil {
			return nil, err
		}
		out.Shared["value by "+v.Name()] = a.Float64s()
	}
	var parts distribute.PerReplica
	for _, b := range batch {
		parts = append(parts, b.X[0])
	}
	a, err := s.Gather(parts, 0)
	if err != nil {
		return nil, err
	}
	out.Shared["gather"] = a.Float64s()
	if a, err = s.Reduce(distribute.Mean, parts, 0); err != nil {
		return nil, err
	}
	out.Shared["mean of rows"] = a.Float64s()
	return out, nil
}

// What combines values does the same on two workers with two replicas each as on four replicas in one process.
func TestValues(t *testing.T) {
	mirrored, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1", "cpu:2", "cpu:3")
	require.NoError(t, err)
	want, err := valuesOf(t.Context(), mirrored)
	require.NoError(t, err)
	require.Equal(t, []float64{100, 110}, want.Shared["reduce sum"])
	require.Equal(t, []float64{3, 10}, want.Own["sizes"][0])
	for _, c := range []struct {
		role    string
		workers int
	}{{"values with two replicas", 2}, {"values", 4}} {
		for rank, got := range all[found](start(t, c.workers, c.role, "")) {
			require.Equal(t, 4, got.Replicas)
			require.Equal(t, want.Shared, got.Shared, "worker %d", rank)
			require.Len(t, got.Own, len(want.Own))
			for name, values := range got.Own {
				per := len(values)
				require.Equal(t, 4/c.workers, per)
				require.Equal(t, want.Own[name][rank*per:(rank+1)*per], values, "%s on worker %d", name, rank)
			}
		}
	}
}

// uneven reads data of its own on each worker: 2 batches on the first, 1 on the second, 3 on the third, of 2 rows each
// but for the last.
func uneven(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
	ds, err := s.DistributeDatasetsFromFunction(func(c distribute.InputContext) (distribute.Dataset, error) {
		n := map[int]int{0: 4, 1: 1, 2: 5}[c.InputPipelineID]
		return (&distribute.ArrayDataset{Examples: distribute.HostBatch{X: []kernels.Array{numbers(n, 20*c.InputPipelineID)}}}).Batch(2), nil
	})
	if err != nil {
		return nil, err
	}
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		return r.AllReduce(ir.Sum, ops.DivideScalar(ops.Sum(in.X), float64(r.GlobalBatchSize())))[0]
	})
	var means []float64
	for b, err := range ds.Batches(ctx, 0) {
		if err != nil {
			return nil, err
		}
		out, err := s.Run(ctx, step, b)
		if err != nil {
			return nil, err
		}
		means = append(means, out[0].Element(0))
	}
	return means, nil
}

// Data sets of different lengths do not hang, and every row counts once.
func TestUnevenDatasets(t *testing.T) {
	for _, means := range all[[]float64](start(t, 3, "uneven", "")) {
		require.Equal(t, []float64{
			float64(0+1+2+3+20+21+40+41+42+43) / 5,
			float64(4+5+6+7+44+45+46+47) / 4,
			float64(48 + 49),
		}, means)
	}
}
