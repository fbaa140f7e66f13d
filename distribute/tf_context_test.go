package distribute_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestContextVectors(t *testing.T) {
	handlers{
		"context.truth_table": truthTable, "context.errors": contextErrors, "context.default_strategy": defaultStrategy,
		"context.input_context": inputContext, "context.replica_ids": replicaIDs, "context.merge_call": mergeCall,
		"context.run_args": runArguments, "context.local_results_nest": localResults, "context.values_from_function": valuesFromFunction,
		"context.cross_device_ops": defaultCrossDeviceOps,
	}.run(t, "testdata/tf_context.json.gz")
}

// truthTable: strategy and context are values here, so "inside a scope" is what code was given.
func truthTable(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32})
	require.NoError(t, err)
	type row struct{ has, cross, current bool }
	got := map[string]row{
		"outside": {has: distribute.HasStrategy(distribute.Default())},
		"scope":   {distribute.HasStrategy(distribute.Scope(s).ScopeStrategy()), true, distribute.Scope(s).ScopeStrategy() == s},
		"after":   {has: distribute.HasStrategy(nil)},
	}
	see := func(r *distribute.Replica) row {
		return row{distribute.HasStrategy(distribute.StrategyOf(r)), r.InCrossReplicaContext(), r.Strategy() == s}
	}
	_, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		got["run"] = see(r)
		r.MergeCall(func(cross *distribute.CrossReplica, _ ...*ops.Tensor) []*ops.Tensor {
			require.Equal(t, s, cross.Strategy())
			got["merge"] = see(r)
			return nil
		})
		require.False(t, r.InCrossReplicaContext())
		return nil
	}, nil)
	require.NoError(t, err)
	_, err = s.Extended().Update(t.Context(), v, func(u *distribute.Component, _ ...*ops.Tensor) *ops.Tensor {
		got["update_fn"] = see(u.Replica())
		return nil
	})
	require.NoError(t, err)
	for place, want := range c.Map(t) {
		if place == "default_replica_context" {
			continue
		}
		require.Equal(t, row{tfvectors.Get(want, "has_strategy").(bool), tfvectors.Get(want, "in_cross_replica_context").(bool), tfvectors.Get(want, "current_is_s").(bool)}, got[place], place)
	}
	ids, err := onReplicas(t, distribute.Default(), func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		require.Equal(t, 1, r.NumReplicasInSync())
		return r.ID()
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []float64{0}, flat(ids))
}

func contextErrors(t *testing.T, c *tfvectors.Case) {
	s, other := strategyOf(t, c), strategyOf(t, c)
	x := distribute.PerReplica{array(t, ir.Float32, nil, 1), array(t, ir.Float32, nil, 2)}
	nested := func(f func(r *distribute.Replica)) func() error {
		return func() error {
			_, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor { f(r); return nil }, nil)
			return err
		}
	}
	first := func(_ any, err error) error { return err }
	cases := map[string]struct {
		run  func() error
		text string // of the error, "" for none
	}{
		"nest_other":                {func() error { return first(distribute.Nest(s, other)) }, "mixing different strategies: Mirrored(cpu:0, cpu:1) made at distribute/tf_"},
		"nest_same":                 {func() error { return first(distribute.Nest(s, s)) }, ""},
		"nest_default_inside":       {func() error { return first(distribute.Nest(s, distribute.Default())) }, "must not be nested"},
		"reduce_bad_op":             {func() error { return first(distribute.ParseReduceOp("MAX")) }, `"MAX" is not a reduce op`},
		"reduce_lower_case":         {func() error { op, _ := distribute.ParseReduceOp("sum"); return first(s.Reduce(op, x[:1])) }, "cannot be summed over 2 replicas"},
		"duplicate_devices":         {func() error { return first(distribute.NewMirroredStrategy("cpu:0", "cpu:0")) }, "device cpu:0 is listed twice"},
		"duplicate_after_canonical": {func() error { return first(distribute.NewMirroredStrategy("/cpu:0", "/device:CPU:0")) }, "device cpu:0 is listed twice"},
		"worker_devices_default":    {func() error { return first(distribute.Default().Extended().WorkerDevices()) }, "not supported by the default strategy"},
		// In the function of a MergeCall the methods of replica context are refused, and outside of it those of
		// cross-replica context.
		"reduce_in_replica": {nested(func(r *distribute.Replica) {
			var kept *distribute.CrossReplica
			r.MergeCall(func(c *distribute.CrossReplica, _ ...*ops.Tensor) []*ops.Tensor { kept = c; return nil })
			kept.Reduce(distribute.Sum, ops.Ones(r, ir.Float32))
		}), "Reduce requires being in cross-replica context"},
		"gather_in_replica": {nested(func(r *distribute.Replica) {
			var kept *distribute.CrossReplica
			r.MergeCall(func(c *distribute.CrossReplica, _ ...*ops.Tensor) []*ops.Tensor { kept = c; return nil })
			kept.Gather(ops.Ones(r, ir.Float32, 1), 0)
		}), "Gather requires being in cross-replica context"},
		"scope_in_run": {nested(func(r *distribute.Replica) {
			r.MergeCall(func(*distribute.CrossReplica, ...*ops.Tensor) []*ops.Tensor {
				return r.AllReduce(ir.Sum, ops.Ones(r, ir.Float32))
			})
		}), "AllReduce requires being in replica context"},
		// TensorFlow takes every device for an empty list.
		"empty_devices_replicas_of_8_logical_cpus": {func() error {
			return first(distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{}}))
		}, "the list of devices is empty"},
	}
	elsewhere := map[string]string{
		"set_strategy":          "there is no strategy of the process to set",
		"set_strategy_in_scope": "there is no strategy of the process to set",
		"run_args_not_sequence": "arguments are a Go slice by their type",
		"pss_without_resolver":  "belongs to the parameter server strategy",
	}
	for name, want := range c.Map(t) {
		if elsewhere[name] != "" {
			continue
		}
		check, ok := cases[name]
		require.True(t, ok, name)
		err := check.run()
		if check.text == "" {
			require.NoError(t, err, name)
			continue
		}
		require.True(t, tfvectors.IsError(want) || name == "empty_devices_replicas_of_8_logical_cpus", name)
		require.ErrorContains(t, err, check.text, name)
	}
}

func defaultStrategy(t *testing.T, c *tfvectors.Case) {
	s := distribute.Default()
	x := tfvectors.Number(t, c.Inputs["x"])
	value := distribute.PerReplica{array(t, ir.Float32, nil, x)}
	vector := distribute.PerReplica{array(t, ir.Float32, ir.Shape{2}, x, x+1)}
	want := c.Map(t)
	number := func(a kernels.Array, err error) []float64 {
		t.Helper()
		require.NoError(t, err)
		return a.Float64s()
	}
	c.Close(t, "reduce", want["reduce"], number(s.Reduce(distribute.Sum, value)))
	c.Close(t, "reduce_axis0", tfvectors.Get(want, "reduce_axis0", "value"), number(s.Reduce(distribute.Sum, vector, 0)))
	c.Close(t, "reduce_mean_axis0", tfvectors.Get(want, "reduce_mean_axis0", "value"), number(s.Reduce(distribute.Mean, vector, 0)))
	c.Close(t, "gather", want["gather"], number(s.Gather(distribute.PerReplica{array(t, ir.Float32, ir.Shape{1}, x)}, 0)))
	require.Equal(t, []kernels.Array(value), s.LocalResults(value))
	var contexts [][]int
	_, err := s.DistributeValuesFromFunction(func(vc distribute.ValueContext) (kernels.Array, error) {
		contexts = append(contexts, []int{vc.ReplicaIDInSyncGroup, vc.NumReplicasInSync})
		return value[0], nil
	})
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1}}, contexts)
	got, err := onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
		return r.MergeCall(func(_ *distribute.CrossReplica, v ...*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.MultiplyScalar(v[0], 2)}
		}, x)[0]
	}, value)
	require.NoError(t, err)
	c.Close(t, "run", want["run"], flat(got))
}

func inputContext(t *testing.T, c *tfvectors.Case) {
	ic := distribute.InputContext{NumInputPipelines: 2, InputPipelineID: 1, NumReplicasInSync: int(tfvectors.Number(t, c.Setup["n"])) * 2}
	n, err := ic.PerReplicaBatchSize(int(tfvectors.Number(t, c.Inputs["good"])))
	require.NoError(t, err)
	c.Close(t, "good", c.Map(t)["good"], []float64{float64(n)})
	_, err = ic.PerReplicaBatchSize(int(tfvectors.Number(t, c.Inputs["bad"])))
	require.ErrorContains(t, err, "the global batch size 9 is not divisible by the number of replicas, 4")
	require.Equal(t, "distribute.InputContext(input pipeline id 1, total: 2)", ic.String())
	require.Equal(t, "tf."+ic.String(), c.Map(t)["str"])
	d := distribute.DefaultInputContext()
	c.Close(t, "defaults", c.Map(t)["defaults"], []float64{float64(d.NumInputPipelines), float64(d.InputPipelineID), float64(d.NumReplicasInSync)})
}

func replicaIDs(t *testing.T, c *tfvectors.Case) {
	f := distribute.NewNestFunction(strategyOf(t, c), func(r *distribute.Replica, _ ...any) any {
		require.Equal(t, ir.Int32, r.ID().DType())
		return map[string]any{"ids": r.ID(), "num": ops.Full(r, ir.Int32, float64(r.NumReplicasInSync()))}
	})
	got, err := f.Run(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"ids", "num"} {
		c.Close(t, name, c.Map(t)[name], flat(tfvectors.Get(got, name).(distribute.PerReplica)))
	}
}

func mergeCall(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	id := func(r *distribute.Replica) *ops.Tensor { return ops.Cast(r.ID(), ir.Float32) }
	got, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		return r.MergeCall(func(c *distribute.CrossReplica, v ...*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.Add(c.Reduce(distribute.Sum, v[0])[0], v[1])}
		}, ops.AddScalar(id(r), 1), ops.Full(r, ir.Float32, 10))[0]
	}, nil)
	require.NoError(t, err)
	want := tfvectors.Number(t, tfvectors.Get(c.Expected, "sum_plus", 0))
	require.Equal(t, []float64{want, want}, flat(got))
	got, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		return r.MergeCall(func(_ *distribute.CrossReplica, v ...*ops.Tensor) []*ops.Tensor { return v }, ops.AddScalar(id(r), 5))[0]
	}, nil)
	require.NoError(t, err)
	c.Close(t, "identity", c.Map(t)["identity"], flat(got))
	_, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
		if x.Dim(0) == 2 { // replica 0
			r.MergeCall(func(*distribute.CrossReplica, ...*ops.Tensor) []*ops.Tensor { return nil })
		}
		return nil
	}, distribute.PerReplica{array(t, ir.Float32, ir.Shape{2}, 1, 2), array(t, ir.Float32, ir.Shape{1}, 1)})
	require.ErrorContains(t, err, "some replicas made a different number of MergeCalls: 1 on replica 0, 0 on replica 1")
}

func runArguments(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	p := distribute.PerReplica{array(t, ir.Float32, nil, 0), array(t, ir.Float32, nil, 1)}
	shared := array(t, ir.Float32, nil, 3)
	f := distribute.NewNestFunction(s, func(_ *distribute.Replica, args ...any) any {
		a := args[0].(*ops.Tensor)
		b := args[1].(map[string]any)["k"].([]any)[0].(*ops.Tensor)
		return map[string]any{"sum": ops.Add(a, b), "c": args[2], "same": args[3], "list": []any{a, []any{ops.AddScalar(a, 1)}}, "none": nil, "text": "x"}
	})
	defer f.Close()
	for range 2 { // the second time without tracing
		got, err := f.Run(t.Context(), p, map[string]any{"k": []any{p}}, p, shared)
		require.NoError(t, err)
		c.Close(t, "sum", c.Map(t)["sum"], flat(tfvectors.Get(got, "sum").(distribute.PerReplica)))
		c.Close(t, "c", c.Map(t)["c"], flat(tfvectors.Get(got, "c").(distribute.PerReplica)))
		c.Close(t, "list0", c.Map(t)["list0"], flat(tfvectors.Get(got, "list", 0).(distribute.PerReplica)))
		c.Close(t, "list1", c.Map(t)["list1"], flat(tfvectors.Get(got, "list", 1, 0).(distribute.PerReplica)))
		require.Equal(t, shared, tfvectors.Get(got, "same"), "an object that all replicas share comes back bare")
		require.Nil(t, tfvectors.Get(got, "none"))
		require.Equal(t, "x", tfvectors.Get(got, "text"))
	}
	// Replicas whose parts have different lengths are traced apart, so they may differ.
	uneven := distribute.PerReplica{array(t, ir.Float32, ir.Shape{1}, 0), array(t, ir.Float32, ir.Shape{2}, 0, 1)}
	for _, bad := range []struct {
		returned func(n int) any
		text     string
	}{
		{func(n int) any { return make([]any, n) }, "lists of 1 and 2 elements"},
		{func(n int) any { return map[string]any{fmt.Sprint(n): nil} }, `maps with the keys ["1"] and ["2"]`},
		{func(n int) any {
			if n == 1 {
				return []any{}
			}
			return nil
		}, "a list and a <nil>"},
	} {
		g := distribute.NewNestFunction(s, func(_ *distribute.Replica, args ...any) any { return bad.returned(args[0].(*ops.Tensor).Dim(0)) })
		_, err := g.Run(t.Context(), uneven)
		require.ErrorContains(t, err, bad.text)
		g.Close()
	}
	g := distribute.NewNestFunction(s, func(_ *distribute.Replica, args ...any) any { return args[0].(*ops.Tensor).Dim(0) - 1 })
	got, err := g.Run(t.Context(), uneven)
	require.NoError(t, err)
	require.Equal(t, distribute.PerReplicaObjects{0, 1}, got)

	_, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		zero := 0
		return ops.Full(r, ir.Float32, float64(1/zero))
	}, nil)
	var panicked *distribute.PanicError
	require.True(t, errors.As(err, &panicked), "%v", err)
	require.ErrorContains(t, err, "integer divide by zero")
	require.Contains(t, string(panicked.Stack), "tf_context_test.go")
}

func localResults(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, _ ...any) any {
		id := r.ID()
		return []any{map[string]any{"a": ops.AddScalar(id, 1), "b": ops.AddScalar(id, 2)}, []any{ops.MultiplyScalar(id, 10)}}
	})
	got, err := f.Run(t.Context())
	require.NoError(t, err)
	for i, local := range distribute.LocalResultsOf(s, got) {
		for _, path := range [][]any{{0, "a"}, {0, "b"}, {1, 0}} {
			want := tfvectors.Get(c.Expected, append([]any{"local_results", i}, path...)...)
			c.Close(t, fmt.Sprint(i, path), want, tfvectors.Get(local, path...).(kernels.Array).Float64s())
		}
	}
	plain := distribute.LocalResultsOf(s, 4.0)
	require.Len(t, plain, 1)
	c.Close(t, "plain_value", c.Map(t)["plain_value"], []float64{plain[0].(float64)})
}

func valuesFromFunction(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	value, err := s.DistributeValuesFromFunction(func(vc distribute.ValueContext) (kernels.Array, error) {
		return array(t, ir.Float32, ir.Shape{2}, float64(vc.ReplicaIDInSyncGroup), float64(vc.NumReplicasInSync)), nil
	})
	require.NoError(t, err)
	c.Close(t, "tensor", c.Map(t)["tensor"], flat(value))
	got, err := onReplicas(t, s, func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor {
		return ops.MultiplyScalar(ops.Index(x, 0, 0), 2)
	}, value)
	require.NoError(t, err)
	c.Close(t, "run_on_it", c.Map(t)["run_on_it"], flat(got))
	_, err = s.DistributeValuesFromFunction(func(distribute.ValueContext) (kernels.Array, error) { return kernels.Array{}, errors.New("no value") })
	require.ErrorContains(t, err, "the value of replica 0: no value")
	_, err = s.DistributeValuesFromFunction(func(distribute.ValueContext) (kernels.Array, error) {
		return kernels.Array{Type: ir.Type{DType: ir.Float32, Shape: ir.Shape{2}}}, nil
	})
	require.ErrorContains(t, err, "needs 8 bytes, received 0")
}

// defaultCrossDeviceOps: every algorithm is exact; what is chosen by default is the backend's own, for both strategies.
func defaultCrossDeviceOps(t *testing.T, c *tfvectors.Case) {
	central, err := distribute.NewCentralStorageStrategy(cpus(c.Replicas())...)
	require.NoError(t, err)
	mirrored, err := distribute.NewMirroredStrategy(cpus(c.Replicas())...)
	require.NoError(t, err)
	for name, s := range map[string]distribute.Strategy{"Mirrored": mirrored, "CentralStorage": central} {
		require.Contains(t, c.Map(t), name)
		comms, err := s.Communicators()
		require.NoError(t, err)
		require.Len(t, comms, c.Replicas())
		require.Equal(t, c.Replicas(), comms[0].Replicas())
	}
}
