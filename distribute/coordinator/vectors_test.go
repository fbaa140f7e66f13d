package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestVectors compares with what TensorFlow did with the same functions on two workers and two servers.
func TestVectors(t *testing.T) {
	run := map[string]func(t *testing.T, c *tfvectors.Case){
		"pss.identity": identity, "pss.placement": placement, "pss.sharded_variable": shardedVariable, "pss.schedule_join": scheduleJoin,
		"pss.schedule_threads": scheduleThreads, "pss.fetch_nested": fetchNested, "pss.schedule_misuse": scheduleMisuse, "pss.error_and_cancel": errorAndCancel,
		"pss.per_worker_dataset": perWorkerDataset, "pss.distributed_dataset": distributedDataset, "pss.not_a_dataset": notADataset,
		"pss.errored_dataset": erroredDataset, "pss.run_and_reduce": runAndReduce, "pss.worker_index": workerIndex,
		"pss.sharded_model_weights": shardedModelWeights, "pss.fit": fit, "pss.fit_errors": fitErrors, "pss.ctl_serial": customLoop,
		"pss.sharded_checkpoint": shardedCheckpoint, "pss.fault.worker_killed": workerKilled, "pss.fault.worker_stopped": workerStopped,
		"pss.fault.ps_killed": serverKilled, "pss.fault.ps_stopped": serverStopped, "pss.fault.coordinator_killed": coordinatorKilled,
	}
	for _, c := range tfvectors.Load(t, "testdata/parameter_server.json.gz") {
		name, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(c.ID, ".2w2ps"), ".keras2"), ".2w2ps")
		t.Run(c.ID, func(t *testing.T) {
			require.NotNil(t, run[name], "nothing runs this case")
			run[name](t, &c)
		})
	}
}

func identity(t *testing.T, c *tfvectors.Case) {
	j := startJob(t, 2, 2, nil, nil)
	co := j.coordinate()
	require.EqualValues(t, c.Map(t)["num_replicas_in_sync"], co.Strategy().NumReplicasInSync())
	again, err := coordinator.New(co.Strategy())
	require.NoError(t, err)
	require.Same(t, co, again)
	_, err = coordinator.New(distribute.Default())
	require.ErrorContains(t, err, "needs a ParameterServerStrategy")
	require.NoError(t, co.Join(t.Context()))
	done, err := co.Done()
	require.NoError(t, err)
	require.True(t, done)
}

func serversOf(v *coordinator.Variable) (out []any) {
	for _, s := range v.Shards() {
		out = append(out, fmt.Sprintf("ps/replica:0/task:%d/device:CPU:0", s.Server))
	}
	return out
}

func placement(t *testing.T, c *tfvectors.Case) {
	co := startJob(t, 1, 2, nil, nil).coordinate()
	variable := func(name string, shape ...int) *coordinator.Variable {
		v, err := co.Variable(t.Context(), coordinator.VariableSpec{Name: name, Shape: shape})
		require.NoError(t, err)
		return v
	}
	var five []any
	for i := range 5 {
		five = append(five, serversOf(variable(fmt.Sprint("v", i), 1))...)
	}
	want := c.Map(t)
	require.Equal(t, want["five"], five)
	require.Equal(t, []any{want["scalar"]}, serversOf(variable("scalar")))
	sharded := variable("sharded", 5, 2)
	require.Equal(t, want["sharded"], serversOf(sharded))
	for i, s := range sharded.Shards() {
		require.EqualValues(t, tfvectors.Get(want, "sharded_shapes", i, 0), s.Rows)
	}
	require.Equal(t, []any{want["one_row"]}, serversOf(variable("one row", 1, 4)))
}

func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func shardedVariable(t *testing.T, c *tfvectors.Case) {
	co := startJob(t, 1, 2, nil, nil).coordinate()
	ctx := t.Context()
	v, err := co.Variable(ctx, coordinator.VariableSpec{Name: "v", Shape: ir.Shape{5, 2}, Value: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}})
	require.NoError(t, err)
	read := func(what string, want any) {
		t.Helper()
		got, err := v.Read(ctx)
		require.NoError(t, err)
		c.Close(t, what, want, wide(got))
	}
	want := c.Map(t)
	read("as_tensor", want["as_tensor"])
	for i := range 5 { // the first rows of shards among them
		row, err := v.Lookup(ctx, []int64{int64(i)})
		require.NoError(t, err)
		c.Close(t, "row", tfvectors.Get(want, "int_index", fmt.Sprint(i)), wide(row))
	}
	_, err = v.Lookup(ctx, []int64{5})
	require.ErrorContains(t, err, "rows 0 to 4; received row 5")
	rows, err := v.Lookup(ctx, []int64{1, 2, 3})
	require.NoError(t, err)
	c.Close(t, "slice_1_4", want["slice_1_4"], wide(rows))
	rows, err = v.Lookup(ctx, []int64{4, 3, 2, 1, 0})
	require.NoError(t, err)
	c.Close(t, "slice_negative_step", want["slice_negative_step"], wide(rows))
	rows, err = v.Lookup(ctx, []int64{0, 4, 2, 4})
	require.NoError(t, err)
	c.Close(t, "embedding_lookup", want["embedding_lookup"], wide(rows))
	rows, err = v.Lookup(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, rows)
	require.NoError(t, v.Assign(ctx, 1))
	read("assign", want["assign"])
	require.NoError(t, v.AssignAdd(ctx, 2))
	read("assign_add", want["assign_add"])
	require.NoError(t, v.AssignSub(ctx, 0.5))
	var parts []any
	for _, part := range want["assign_sub"].([]any) {
		parts = append(parts, part.([]any)...)
	}
	read("assign_sub", parts)
	require.NoError(t, v.ScatterAdd(ctx, []int64{0, 4, 0}, []float32{1, 1, 2, 2, 4, 4}))
	read("scatter_add", want["scatter_add"])
	require.NoError(t, v.ScatterUpdate(ctx, []int64{3}, []float32{9, 9}))
	read("scatter_update", want["scatter_update"])
	require.ErrorContains(t, v.Assign(ctx, make([]float32, 14)...), "takes 10 numbers, or one for all; received 14")
	require.ErrorContains(t, v.ScatterUpdate(ctx, []int64{3, 3}, make([]float32, 4)), "replaced twice")
}

// counting is a job with a variable and a function that adds 1 to it.
type counting struct {
	*testJob
	*coordinator.ClusterCoordinator
	v     *coordinator.Variable
	count *coordinator.Function
	slow  *coordinator.Function
	bad   *coordinator.Function
}

func (k *counting) value(t testing.TB) float64 {
	t.Helper()
	got, err := k.v.Read(t.Context())
	require.NoError(t, err)
	return float64(got[0])
}

func (k *counting) schedule(t testing.TB, n int) (out []*coordinator.RemoteValue) {
	t.Helper()
	for range n {
		v, err := k.Schedule(t.Context(), k.count)
		require.NoError(t, err)
		out = append(out, v)
	}
	return out
}

func startCounting(t testing.TB, workers, servers int, pause time.Duration, change func(*parameterserver.Options)) *counting {
	t.Helper()
	k := &counting{}
	k.testJob = startJob(t, workers, servers, change, func(ctx context.Context, c *coordinator.ClusterCoordinator) error {
		v, err := c.Variable(ctx, coordinator.VariableSpec{Name: "v"})
		if err != nil {
			return err
		}
		count := c.Function("count", func(cl *coordinator.Closure) (any, error) {
			time.Sleep(pause)
			if err := cl.AssignAdd(v, 1); err != nil {
				return nil, err
			}
			now, err := cl.Read(v)
			return now, err
		})
		slow := c.Function("slow", func(cl *coordinator.Closure) (any, error) {
			time.Sleep(30 * time.Millisecond)
			return 1.0, cl.AssignAdd(v, 1)
		})
		bad := c.Function("bad", func(*coordinator.Closure) (any, error) { return nil, errors.New("deliberate") })
		if c.Coordinates() {
			k.v, k.count, k.slow, k.bad = v, count, slow, bad
		}
		return nil
	})
	k.ClusterCoordinator = k.coordinate()
	return k
}

func scheduleJoin(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 0, nil)
	var got []any
	for range 2 {
		k.schedule(t, 10)
		require.NoError(t, k.Join(t.Context()))
		got = append(got, k.value(t))
	}
	done, err := k.Done()
	require.NoError(t, err)
	require.Equal(t, c.Expected, append(got, done))
}

func scheduleThreads(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 0, nil)
	var wait sync.WaitGroup
	for range 10 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			k.schedule(t, 20)
		}()
	}
	wait.Wait()
	require.NoError(t, k.Join(t.Context()))
	require.Equal(t, c.Expected, k.value(t))
}

func fetchNested(t *testing.T, c *tfvectors.Case) {
	var nested *coordinator.Function
	co := startJob(t, 2, 1, nil, func(_ context.Context, c *coordinator.ClusterCoordinator) error {
		nested = c.Function("nested", func(cl *coordinator.Closure) (any, error) {
			x := cl.Arguments[0].(float64)
			return []any{x + 1, []any{x + 2, x + 3}, []any{x + 4}, map[string]any{"v": x}}, nil
		})
		return nil
	}).coordinate()
	v, err := co.Schedule(t.Context(), nested, 1.0)
	require.NoError(t, err)
	got, err := co.Fetch(t.Context(), map[string]any{"fetch": v, "plain": 3})
	require.NoError(t, err)
	require.Equal(t, c.Map(t)["fetch"], got.(map[string]any)["fetch"])
	require.Equal(t, 3, got.(map[string]any)["plain"])
}

func scheduleMisuse(t *testing.T, _ *tfvectors.Case) {
	var back *coordinator.Function
	k := startCounting(t, 2, 1, 0, nil)
	for _, s := range append(slices.Clone(k.workers), k.Strategy()) {
		c, err := coordinator.New(s)
		require.NoError(t, err)
		back = c.Function("gives a channel", func(*coordinator.Closure) (any, error) { return make(chan int), nil })
	}
	_, err := k.Schedule(t.Context(), nil)
	require.ErrorContains(t, err, "Schedule takes what ClusterCoordinator.Function")
	v := k.schedule(t, 1)[0]
	_, err = k.Schedule(t.Context(), k.count, v)
	require.ErrorContains(t, err, "argument 0 is a RemoteValue")
	_, err = k.Schedule(t.Context(), k.count, func() {})
	require.ErrorContains(t, err, "cannot travel: it has a function")
	_, err = k.Schedule(t.Context(), k.count, map[string]any{"x": []any{make(chan int)}})
	require.ErrorContains(t, err, "a channel")
	_, err = k.Schedule(t.Context(), k.count, struct{ Unknown int }{3})
	require.ErrorContains(t, err, "gob.Register")
	_, err = k.Schedule(t.Context(), back)
	require.NoError(t, err)
	require.ErrorContains(t, k.Join(t.Context()), "the result cannot travel: it has a channel")
	plain, err := k.Fetch(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, 3, plain)
}

func errorAndCancel(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 1, 0, func(o *parameterserver.Options) { o.InFlight = 1 })
	ctx := t.Context()
	add := func(f *coordinator.Function) *coordinator.RemoteValue {
		v, err := k.Schedule(ctx, f)
		require.NoError(t, err)
		return v
	}
	others := []*coordinator.RemoteValue{add(k.slow), add(k.slow)}
	bad := add(k.bad)
	for range 6 {
		others = append(others, add(k.slow))
	}
	raised := 0
	err := k.Join(ctx)
	require.ErrorContains(t, err, "deliberate")
	raised++
	_, err = bad.Fetch(ctx)
	require.ErrorContains(t, err, "deliberate")
	kinds, ran := map[string]bool{}, 0
	for _, v := range others {
		switch _, err := v.Fetch(ctx); {
		case err == nil:
			kinds["value"] = true
			ran++
		case errors.Is(err, parameters.ErrCancelled):
			kinds["tf.errors.CancelledError"] = true
		default:
			t.Fatal(err)
		}
	}
	for _, kind := range c.Map(t)["fetch_of_others"].([]any) {
		require.True(t, kinds[kind.(string)], kind)
	}
	require.EqualValues(t, ran, k.value(t))
	done, err := k.Done()
	require.NoError(t, err)
	require.Equal(t, c.Map(t)["done_after_error"], done)
	require.NoError(t, k.Join(ctx))
	got, err := add(k.slow).Fetch(ctx)
	require.NoError(t, err)
	require.Equal(t, c.Map(t)["schedule_again"], got)
	require.EqualValues(t, c.Map(t)["times_raised"], raised)
}

// numbers counts from 1 to n, forever.
func numbers(n int) coordinator.Iterator {
	return coordinator.Batches(func(yield func(int, error) bool) {
		for {
			for i := range n {
				if !yield(i+1, nil) {
					return
				}
			}
		}
	})
}

// datasetJob is a job with a dataset on each worker and a function that takes its next batch.
func datasetJob(t *testing.T, make func(context.Context, distribute.InputContext) (coordinator.Iterator, error)) (*coordinator.ClusterCoordinator, *coordinator.Function, *coordinator.Function, *coordinator.PerWorkerDataset) {
	var next, other *coordinator.Function
	var ds *coordinator.PerWorkerDataset
	co := startJob(t, 2, 1, nil, func(_ context.Context, c *coordinator.ClusterCoordinator) error {
		ds = c.CreatePerWorkerDataset("numbers", make)
		next = c.Function("next", func(cl *coordinator.Closure) (any, error) {
			time.Sleep(2 * time.Millisecond)
			return cl.Arguments[0].(coordinator.Iterator).Next()
		})
		other = c.Function("other", func(*coordinator.Closure) (any, error) { return 0, nil })
		return nil
	}).coordinate()
	return co, next, other, ds
}

func perWorkerDataset(t *testing.T, c *tfvectors.Case) {
	co, next, _, ds := datasetJob(t, func(context.Context, distribute.InputContext) (coordinator.Iterator, error) { return numbers(5), nil })
	var values []*coordinator.RemoteValue
	for range int(c.Map(t)["count"].(float64)) {
		v, err := co.Schedule(t.Context(), next, ds)
		require.NoError(t, err)
		values = append(values, v)
	}
	got, err := co.Fetch(t.Context(), values)
	require.NoError(t, err)
	counts := map[int]int{}
	for _, v := range got.([]any) {
		counts[v.(int)]++
	}
	require.GreaterOrEqual(t, counts[1], 2, "each worker begins at the beginning: %v", got)
	require.LessOrEqual(t, counts[1], 3, "as recorded, when one takes more than the other")
}

func distributedDataset(t *testing.T, c *tfvectors.Case) {
	co, next, _, ds := datasetJob(t, func(_ context.Context, in distribute.InputContext) (coordinator.Iterator, error) {
		require.Equal(t, 2, in.NumInputPipelines)
		return coordinator.Batches(func(yield func(int, error) bool) { _ = yield(0+1+2+3, nil) && yield(4+5+6+7, nil) }), nil
	})
	var got []float64
	for worker := range 2 {
		v, err := co.ScheduleOn(t.Context(), worker, next, ds)
		require.NoError(t, err)
		sum, err := v.Fetch(t.Context())
		require.NoError(t, err)
		got = append(got, float64(sum.(int)))
	}
	require.Equal(t, tfvectors.Values(t, c.Expected), got)
	for range 2 {
		_, err := co.ScheduleOn(t.Context(), 0, next, ds)
		require.NoError(t, err)
	}
	require.ErrorContains(t, co.Join(t.Context()), io.EOF.Error())
}

func notADataset(t *testing.T, _ *tfvectors.Case) {
	co, next, _, ds := datasetJob(t, func(context.Context, distribute.InputContext) (coordinator.Iterator, error) { return nil, nil })
	_, err := co.Schedule(t.Context(), next, ds)
	require.NoError(t, err)
	require.ErrorContains(t, co.Join(t.Context()), `the function of the dataset "numbers" returned no iterator`)
}

func erroredDataset(t *testing.T, c *tfvectors.Case) {
	co, next, other, ds := datasetJob(t, func(context.Context, distribute.InputContext) (coordinator.Iterator, error) {
		return nil, errors.New("deliberate")
	})
	_, err := co.Schedule(t.Context(), other)
	require.NoError(t, err)
	require.NoError(t, co.Join(t.Context()))
	require.Equal(t, "no error", c.Map(t)["unused"])
	_, err = co.Schedule(t.Context(), next, ds)
	require.NoError(t, err)
	require.ErrorContains(t, co.Join(t.Context()), `the dataset "numbers": deliberate`)
}

func runAndReduce(t *testing.T, c *tfvectors.Case) {
	var double *coordinator.Function
	co := startJob(t, 2, 1, nil, func(_ context.Context, co *coordinator.ClusterCoordinator) error {
		double = co.Function("double", func(cl *coordinator.Closure) (any, error) {
			s := cl.Strategy()
			f := s.Function(func(_ *distribute.Replica, in distribute.Batch) *ops.Tensor {
				return ops.MultiplyScalar(ops.Sum(in.X), 2)
			})
			x, err := kernels.FromFloat64s(ir.Float32, ir.Shape{1}, []float64{cl.Arguments[0].(float64)})
			if err != nil {
				return nil, err
			}
			part := distribute.HostBatch{X: []kernels.Array{x}}
			values, err := s.Run(cl.Context(), f, distribute.PerReplicaBatch{part})
			if err != nil {
				return nil, err
			}
			sum, err := s.Reduce(distribute.Sum, values)
			if err != nil {
				return nil, err
			}
			return []any{sum.Element(0), float64(s.NumReplicasInSync())}, nil
		})
		return nil
	}).coordinate()
	v, err := co.Schedule(t.Context(), double, 3.0)
	require.NoError(t, err)
	got, err := v.Fetch(t.Context())
	require.NoError(t, err)
	require.Equal(t, c.Expected, got)
}

func workerIndex(t *testing.T, c *tfvectors.Case) {
	var index *coordinator.Function
	co := startJob(t, 2, 1, nil, func(_ context.Context, c *coordinator.ClusterCoordinator) error {
		index = c.Function("index", func(cl *coordinator.Closure) (any, error) { return cl.Worker(), nil })
		return nil
	}).coordinate()
	for range 6 {
		v, err := co.Schedule(t.Context(), index)
		require.NoError(t, err)
		got, err := v.Fetch(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.Expected, got.(int) == 0 || got.(int) == 1)
	}
}
