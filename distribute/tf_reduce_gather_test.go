package distribute_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestReduceGatherVectors(t *testing.T) {
	handlers{
		"reduce.scalar": reduceScalar, "reduce.axis": reduceAxes, "reduce.matrix": reduceAxes, "reduce.uneven": reduceAxes,
		"reduce.nest": reduceNest, "reduce.dtypes": reduceTypes, "reduce.extended": reduceExtended,
		"all_reduce.dense": allReduceDense, "all_reduce.gradient": allReduceGradient,
		"all_reduce.sparse": allReduceSparse, "all_reduce.sparse_uneven": allReduceSparseUneven,
		"gather.dense": gatherDense, "gather.uneven": gatherUneven, "gather.errors": gatherErrors, "all_gather": allGather,
		"gradient.variable": gradientOfVariable, "gradient.assign_sub_sum": assignSubSum, "cross_device": crossDevice,
	}.run(t, "testdata/tf_reduce_gather.json.gz")
}

var reduceOps = map[string]distribute.ReduceOp{"SUM": distribute.Sum, "MEAN": distribute.Mean}

func reduceScalar(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	x := perReplica(t, ir.Float32, c.Inputs["x"])
	ints := perReplica(t, ir.Int32, c.Inputs["x"])
	plain := func(v float64) distribute.PerReplica {
		return distribute.PerReplica{array(t, ir.Float32, nil, v)}
	}
	for name, want := range c.Map(t) {
		op := reduceOps[strings.SplitN(name, "_", 2)[0]]
		value, axes := x, []int(nil)
		switch {
		case strings.HasSuffix(name, "int32"):
			value = ints
		case strings.HasSuffix(name, "plain_tensor"):
			value = plain(2)
		case strings.HasSuffix(name, "python_float"):
			value = plain(1)
		case strings.HasSuffix(name, "python_zero"):
			value = plain(0)
		case strings.HasSuffix(name, "plain_vector"):
			value, axes = distribute.PerReplica{array(t, ir.Float32, ir.Shape{2}, 1, 2)}, []int{0}
		}
		got, err := s.Reduce(op, value, axes...)
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "that is not distributed cannot be summed", name)
			continue
		}
		require.NoError(t, err, name)
		c.Close(t, name, want, got.Float64s())
		if name == "MEAN_int32" {
			require.Equal(t, ir.Float64, got.Type.DType, "the mean of integers is a float")
		}
	}
}

// reduceAxes goes through "OP.axes".
func reduceAxes(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	var value distribute.PerReplica
	for _, v := range c.Inputs {
		value = perReplica(t, ir.Float32, v)
	}
	require.Len(t, c.Inputs, 1)
	for name, want := range c.Map(t) {
		parts := strings.SplitN(strings.TrimSuffix(name, ".traced"), ".", 2)
		var axes []int
		for _, text := range strings.FieldsFunc(parts[1], func(r rune) bool { return strings.ContainsRune("(), ", r) }) {
			if text != "None" {
				axis, err := strconv.Atoi(text)
				require.NoError(t, err)
				axes = append(axes, axis)
			}
		}
		got, err := s.Reduce(reduceOps[parts[0]], value, axes...)
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "axis 2 is outside shape", name)
			continue
		}
		require.NoError(t, err, name)
		shape, _ := tfvectors.Floats(t, want)
		require.Equal(t, shape, append([]int(nil), got.Type.Shape...), name)
		c.Close(t, name, want, got.Float64s())
	}
	if strings.HasPrefix(c.ID, "reduce.uneven") {
		_, err := s.Reduce(distribute.Sum, value)
		require.ErrorContains(t, err, "elementwise reduction needs one type")
	}
}

func reduceNest(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	in := func(name string) any { return perReplica(t, ir.Float32, c.Inputs[name]) }
	got, err := distribute.ReduceStructure(s, distribute.Sum, map[string]any{"a": in("x"), "b": []any{in("v"), []any{in("m")}}})
	require.NoError(t, err)
	number := func(path ...any) []float64 { return tfvectors.Get(got, path...).(kernels.Array).Float64s() }
	c.Close(t, "a", tfvectors.Get(c.Expected, "a"), number("a"))
	c.Close(t, "b[0]", tfvectors.Get(c.Expected, "b", 0), number("b", 0))
	c.Close(t, "b[1][0]", tfvectors.Get(c.Expected, "b", 1, 0), number("b", 1, 0))
	_, err = distribute.ReduceStructure(s, distribute.Sum, []any{1.0})
	require.ErrorContains(t, err, "expected PerReplica values")
}

func reduceTypes(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for name, want := range c.Map(t) {
		typ, op, _ := strings.Cut(name, ".")
		dtype, err := ir.ParseDType(typ)
		require.NoError(t, err)
		got, err := s.Reduce(reduceOps[op], perReplica(t, dtype, c.Inputs["x"]))
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "values of type bool[] are not numeric", name)
			continue
		}
		require.NoError(t, err, name)
		c.Close(t, name, want, got.Float64s())
	}
}

func reduceExtended(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	e := s.Extended()
	w1, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "w1", Shape: ir.Shape{2}, DType: ir.Float32})
	require.NoError(t, err)
	require.NoError(t, w1.Assign(array(t, ir.Float32, ir.Shape{2}, 1, 2)))
	w2, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "w2", DType: ir.Float32})
	require.NoError(t, err)
	v, x := perReplica(t, ir.Float32, c.Inputs["v"]), perReplica(t, ir.Float32, c.Inputs["x"])
	want := c.Map(t)

	g, err := e.ReduceTo(distribute.Sum, v, distribute.ToVariable(w1))
	require.NoError(t, err)
	c.Close(t, "reduce_to_variable", want["reduce_to_variable"], flat(g))
	batch, err := e.BatchReduceTo(distribute.Mean, []distribute.ValueDestination{{Value: v, To: distribute.ToVariable(w1)}, {Value: x, To: distribute.ToVariable(w2)}})
	require.NoError(t, err)
	c.Close(t, "batch_reduce_to[0]", tfvectors.Get(want, "batch_reduce_to", 0), flat(batch[0]))
	c.Close(t, "batch_reduce_to[1]", tfvectors.Get(want, "batch_reduce_to", 1), flat(batch[1]))
	results, err := e.Update(t.Context(), w1, func(u *distribute.Component, args ...*ops.Tensor) *ops.Tensor {
		u.AssignSub(ops.MultiplyScalar(args[0], 0.1))
		return u.Read()
	}, g)
	require.NoError(t, err)
	c.Close(t, "sgd_by_update", want["sgd_by_update"], components(t, w1))
	c.Close(t, "its results", want["sgd_by_update"], flat(results))
	one, err := e.ReduceTo(distribute.Sum, x, distribute.ToDevices("cpu:0"))
	require.NoError(t, err)
	c.Close(t, "reduce_to_device_string", want["reduce_to_device_string"], flat(one))
	everywhere, err := e.BroadcastTo(array(t, ir.Float32, nil, 3), distribute.ToVariable(w1))
	require.NoError(t, err)
	c.Close(t, "broadcast_to", want["broadcast_to"], flat(everywhere))
}

func allReduceDense(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	x := perReplica(t, ir.Float32, c.Inputs["x"])
	want := c.Map(t)
	for op, kind := range map[string]ir.Kind{"SUM": ir.Sum, "MEAN": ir.Mean} {
		got, err := onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(kind, x)[0] }, x)
		require.NoError(t, err)
		c.Close(t, op, want[op], flat(got))
	}
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		x := args[0].(*ops.Tensor)
		out := r.AllReduce(ir.Sum, x, ops.AddScalar(x, 1), ops.MultiplyScalar(x, 2))
		return map[string]any{"a": out[0], "b": []any{out[1], []any{out[2]}}}
	})
	defer f.Close()
	got, err := f.Run(t.Context(), x)
	require.NoError(t, err)
	for _, path := range [][]any{{"a"}, {"b", 0}, {"b", 1, 0}} {
		c.Close(t, "nest", tfvectors.Get(want["nest"], path...), flat(tfvectors.Get(got, path...).(distribute.PerReplica)))
	}
}

func allReduceGradient(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for op, kind := range map[string]ir.Kind{"SUM": ir.Sum, "MEAN": ir.Mean} {
		got, err := onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
			tape := ops.NewTape(r)
			y := r.AllReduce(kind, ops.Multiply(x, x))[0]
			loss := ops.Multiply(ops.Sum(y), ops.AddScalar(ops.Cast(r.ID(), ir.Float32), 1))
			return tape.Gradients(loss, x).Values[0]
		}, perReplica(t, ir.Float32, c.Inputs["x"]))
		require.NoError(t, err)
		c.Close(t, op, c.Map(t)[op], flat(got))
	}
}

// sparse returns values, indices and the dense form after reducing, in replica order.
func sparse(t *testing.T, s distribute.Strategy, op distribute.ReduceOp, values, indices distribute.PerReplica) [3]distribute.PerReplica {
	t.Helper()
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		out := r.AllReduceSlices(op, distribute.IndexedSlices{Values: args[0].(*ops.Tensor), Indices: args[1].(*ops.Tensor), DenseShape: []int{5, 2}})
		return []any{out.Values, out.Indices, out.Dense(), r.AllReduce(ir.Sum, ops.Sum(args[0].(*ops.Tensor)))[0]}
	})
	defer f.Close()
	got, err := f.Run(t.Context(), values, indices)
	require.NoError(t, err)
	var out [3]distribute.PerReplica
	for i := range out {
		out[i] = tfvectors.Get(got, i).(distribute.PerReplica)
	}
	return out
}

func allReduceSparse(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for name, want := range c.Map(t) {
		parts := strings.Split(strings.TrimPrefix(name, "mixed."), ".")
		got := sparse(t, s, reduceOps[parts[0]], perReplica(t, ir.Float32, c.Inputs["v"]), perReplica(t, ir.Int32, c.Inputs[parts[1]+"_rows"]))
		for i := range got {
			c.Close(t, name, tfvectors.Get(want, i), flat(got[i]))
		}
	}
}

func allReduceSparseUneven(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for name, want := range c.Map(t) {
		got := sparse(t, s, reduceOps[name], perReplica(t, ir.Float32, c.Inputs["values"]), perReplica(t, ir.Int32, c.Inputs["indices"]))
		for i := range got {
			c.Close(t, name, tfvectors.Get(want, i), flat(got[i]))
		}
	}
}

func gatherDense(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for name, want := range c.Map(t) {
		input, axis, _ := strings.Cut(name, ".")
		n, err := strconv.Atoi(axis)
		require.NoError(t, err)
		got, err := s.Gather(perReplica(t, ir.Float32, c.Inputs[input]), n)
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "axis -1 is outside shape", name)
			continue
		}
		require.NoError(t, err, name)
		shape, _ := tfvectors.Floats(t, want)
		require.Equal(t, shape, []int(got.Type.Shape))
		c.Close(t, name, want, got.Float64s())
	}
}

func gatherUneven(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	d := perReplica(t, ir.Float32, c.Inputs["d"])
	got, err := s.Gather(d, 0)
	require.NoError(t, err)
	c.Close(t, "axis0", c.Map(t)["axis0"], got.Float64s())
	_, err = s.Gather(d, 1)
	require.ErrorContains(t, err, "only the length of axis 1 may differ")
	d[0] = d[0].Slice(0, 0)
	got, err = s.Gather(d, 0)
	require.NoError(t, err)
	c.Close(t, "empty_and_rows", c.Map(t)["empty_and_rows"], got.Float64s())
}

func gatherErrors(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	n := c.Replicas()
	vector, matrix, scalar := array(t, ir.Float32, ir.Shape{1}, 1), array(t, ir.Float32, ir.Shape{1, 1}, 1), array(t, ir.Float32, nil, 1)
	repeat := func(first, a kernels.Array) distribute.PerReplica {
		out := distribute.PerReplica{first}
		for range n - 1 {
			out = append(out, a)
		}
		return out
	}
	fails := func(value distribute.PerReplica, axis int, text string) {
		t.Helper()
		_, err := s.Gather(value, axis)
		require.ErrorContains(t, err, text)
	}
	fails(repeat(vector, matrix), 0, "cannot be joined with")
	fails(repeat(scalar, scalar), 0, "scalars have no axis")
	fails(repeat(vector, vector), 3, "axis 3 is outside shape")
	fails(distribute.PerReplica{vector}, 0, "is not distributed")

	// In TensorFlow one mismatch corrupts all later reductions of the process.
	sum := func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllReduce(ir.Sum, x)[0] }
	_, err := onReplicas(t, s, sum, repeat(vector, array(t, ir.Float32, ir.Shape{2}, 1, 2)))
	require.ErrorContains(t, err, "replicas run different programs: collective call 0 is all_reduce [float32[1]] by sum on replica 0")
	got, err := onReplicas(t, s, sum, repeat(vector, vector))
	require.NoError(t, err)
	require.Equal(t, float64(n), got[n-1].Element(0))

	_, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
		if x.Dim(0) == 1 {
			return x
		}
		return r.AllReduce(ir.Sum, ops.Sum(x))[0]
	}, repeat(vector, array(t, ir.Float32, ir.Shape{2}, 1, 2)))
	require.ErrorContains(t, err, "replicas run different programs: replica 1 makes 1 collective calls and replica 0 only 0")
	_, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllGather(ops.Sum(x), 0) }, repeat(vector, vector))
	require.ErrorContains(t, err, "a scalar has no axis")
	_, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllGather(x, 0) }, repeat(vector, matrix))
	require.ErrorContains(t, err, "cannot be joined with")
}

func allGather(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	want := c.Map(t)
	gather := func(input string, axis int) []float64 {
		t.Helper()
		got, err := onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { return r.AllGather(x, axis) }, perReplica(t, ir.Float32, c.Inputs[input]))
		require.NoError(t, err)
		return flat(got)
	}
	gradient := func(input string) []float64 {
		t.Helper()
		got, err := onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
			tape := ops.NewTape(r)
			loss := ops.Multiply(ops.Sum(ops.Square(r.AllGather(x, 0))), ops.AddScalar(ops.Cast(r.ID(), ir.Float32), 1))
			return tape.Gradients(loss, x).Values[0]
		}, perReplica(t, ir.Float32, c.Inputs[input]))
		require.NoError(t, err)
		return flat(got)
	}
	flatten := func(v any) any { // replicas have parts of different shapes
		var out []any
		var walk func(any)
		walk = func(v any) {
			if l, ok := v.([]any); ok {
				for _, e := range l {
					walk(e)
				}
				return
			}
			out = append(out, v)
		}
		walk(v)
		return out
	}
	c.Close(t, "vec.0", want["vec.0"], gather("vec", 0))
	c.Close(t, "mat.1", want["mat.1"], gather("mat", 1))
	c.Close(t, "uneven.0", want["uneven.0"], gather("d", 0))
	c.Close(t, "uneven.0.traced", want["uneven.0.traced"], gather("d", 0))
	c.Close(t, "gradient.vec", want["gradient.vec"], gradient("vec"))
	c.Close(t, "gradient.uneven", flatten(want["gradient.uneven"]), gradient("d"))
	c.Close(t, "nest", tfvectors.Get(want, "nest", "a"), gather("vec", 0))
}

func gradientOfVariable(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32})
	require.NoError(t, err)
	require.NoError(t, v.Assign(array(t, ir.Float32, nil, 2)))
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, _ ...any) any {
		tape := ops.NewTape(r)
		x := r.Read(v)
		loss := ops.Multiply(ops.Multiply(x, x), ops.AddScalar(ops.Cast(r.ID(), ir.Float32), 1))
		g := tape.Gradients(loss, distribute.Variables{v}).Values[0]
		return map[string]any{"local": g, "summed": r.AllReduce(ir.Sum, g)[0]}
	})
	got, err := f.Run(t.Context())
	require.NoError(t, err)
	for name, want := range c.Map(t) {
		c.Close(t, name, want, flat(tfvectors.Get(got, name).(distribute.PerReplica)))
	}
}

func assignSubSum(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32, Aggregation: distribute.Sum})
	require.NoError(t, err)
	require.NoError(t, v.Assign(array(t, ir.Float32, nil, 2)))
	_, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		tape := ops.NewTape(r)
		x := r.Read(v)
		r.AssignSub(v, ops.MultiplyScalar(tape.Gradients(ops.Multiply(x, x), distribute.Variables{v}).Values[0], 0.1))
		return nil
	}, nil)
	require.NoError(t, err)
	c.Close(t, "components", c.Expected, components(t, v))
}

// crossDevice reduces through the ops of the case. NcclAllReduce says that it needs GPUs; with Fallback it does what
// TensorFlow does here.
func crossDevice(t *testing.T, c *tfvectors.Case) {
	known, name := map[string]distribute.CrossDeviceOps{
		"ReductionToOneDevice":             distribute.ReductionToOneDevice{},
		"ReductionToOneDevice_cpu1":        distribute.ReductionToOneDevice{Device: "cpu:1"},
		"HierarchicalCopyAllReduce":        distribute.HierarchicalCopyAllReduce{NumPacks: 1},
		"HierarchicalCopyAllReduce_0packs": distribute.HierarchicalCopyAllReduce{},
		"NcclAllReduce":                    distribute.NcclAllReduce{NumPacks: 1, Fallback: true},
		"NcclAllReduce_2packs":             distribute.NcclAllReduce{NumPacks: 2, Fallback: true},
		"NcclAllReduce_negative":           distribute.NcclAllReduce{NumPacks: -1, Fallback: true},
	}, c.Setup["cross_device_ops"].(string)
	require.Contains(t, known, name)
	s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: cpus(c.Replicas()), CrossDeviceOps: known[name]})
	if tfvectors.IsError(c.Expected) {
		require.ErrorContains(t, err, "NcclAllReduce: NumPacks is -1; expected 0 or more")
		return
	}
	require.NoError(t, err)
	x := perReplica(t, ir.Float32, c.Inputs["x"])
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		out := r.AllReduce(ir.Sum, args[0].(*ops.Tensor), ops.Sum(args[0].(*ops.Tensor)))
		return []any{out[0], out[1]}
	})
	got, err := f.Run(t.Context(), x)
	require.NoError(t, err)
	for i := range 2 {
		c.Close(t, "all_reduce", tfvectors.Get(c.Expected, "all_reduce", i), flat(tfvectors.Get(got, i).(distribute.PerReplica)))
	}
	mean, err := s.Reduce(distribute.Mean, x)
	require.NoError(t, err)
	c.Close(t, "reduce_mean", c.Map(t)["reduce_mean"], mean.Float64s())
	all, err := s.Gather(x, 0)
	require.NoError(t, err)
	c.Close(t, "gather", c.Map(t)["gather"], all.Float64s())
	if strings.HasPrefix(name, "Nccl") {
		_, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: cpus(2), CrossDeviceOps: distribute.NcclAllReduce{}})
		require.ErrorContains(t, err, "NcclAllReduce needs GPUs, the devices are [cpu:0 cpu:1]")
	}
}
