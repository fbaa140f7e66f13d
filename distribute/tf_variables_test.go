package distribute_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// handlers run the cases whose id begins with the key; the longest key counts. Each case of a file needs one.
type handlers map[string]func(t *testing.T, c *tfvectors.Case)

func (h handlers) run(t *testing.T, path string) {
	for _, c := range tfvectors.Load(t, path) {
		t.Run(c.ID, func(t *testing.T) {
			best := ""
			for prefix := range h {
				if strings.HasPrefix(c.ID, prefix) && len(prefix) > len(best) {
					best = prefix
				}
			}
			require.NotEmpty(t, best, "the case has no test")
			h[best](t, &c)
		})
	}
}

// cpus names n logical devices.
func cpus(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cpu:%d", i)
	}
	return names
}

// strategyOf makes the strategy of a case.
func strategyOf(t testing.TB, c *tfvectors.Case) distribute.Strategy {
	t.Helper()
	n := c.Replicas()
	var s distribute.Strategy
	var err error
	switch name := c.Setup["strategy"]; name {
	case "Mirrored":
		s, err = distribute.NewMirroredStrategy(cpus(n)...)
	case "CentralStorage":
		s, err = distribute.NewCentralStorageStrategy(cpus(n)...)
	case "OneDevice":
		s, err = distribute.NewOneDeviceStrategy("cpu:0")
	case "Default", nil:
		s = distribute.Default()
	default:
		t.Fatalf("strategy %v", name)
	}
	require.NoError(t, err)
	return s
}

// arrayOf makes an array of recorded numbers.
func arrayOf(t testing.TB, dtype ir.DType, v any) kernels.Array {
	t.Helper()
	shape, values := tfvectors.Floats(t, v)
	return array(t, dtype, shape, values...)
}

// perReplica makes a value of a list with one entry per replica.
func perReplica(t testing.TB, dtype ir.DType, v any) distribute.PerReplica {
	t.Helper()
	var out distribute.PerReplica
	for _, e := range v.([]any) {
		out = append(out, arrayOf(t, dtype, e))
	}
	return out
}

// onReplicas runs f on every replica with its value; nil values for none.
func onReplicas(t testing.TB, s distribute.Strategy, f func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor, value distribute.PerReplica) (distribute.PerReplica, error) {
	t.Helper()
	fn := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		var x *ops.Tensor
		if len(args) > 0 {
			x = args[0].(*ops.Tensor)
		}
		if out := f(r, x); out != nil {
			return out
		}
		return nil
	})
	defer fn.Close()
	var args []any
	if value != nil {
		args = []any{value}
	}
	out, err := fn.Run(context.Background(), args...)
	if err != nil || out == nil {
		return nil, err
	}
	return out.(distribute.PerReplica), nil
}

func flat(p distribute.PerReplica) []float64 {
	var out []float64
	for _, a := range p {
		out = append(out, a.Float64s()...)
	}
	return out
}

func components(t testing.TB, v *distribute.Variable) []float64 {
	t.Helper()
	p, err := v.Components()
	require.NoError(t, err)
	return flat(p)
}

var (
	synchronizations = map[string]distribute.VariableSynchronization{"on_write": distribute.OnWrite, "on_read": distribute.OnRead}
	aggregations     = map[string]distribute.VariableAggregation{"none": distribute.None, "sum": distribute.Sum, "mean": distribute.Mean, "only_first_replica": distribute.OnlyFirstReplica}
)

func TestVariableVectors(t *testing.T) {
	handlers{
		"var.mirrored": variableForms, "var.central": variableForms, "var.onedevice": variableForms, "var.default": variableForms,
		"var.create.": variableCreation, "var.sum_nondistributed": sumOfPlainValue, "var.random_init": randomInit,
		"var.created_in_run.": createdInRun, "var.created_in_run_each": createdInRun, "var.outside_scope": outsideScope,
		"var.scatter": scatterForms, "var.on_read_all_reduce": onReadAllReduce, "var.sync_on_read_context": syncOnRead,
		"var.deepcopy": deepCopy, "var.cross_read_device": crossReadDevice,
	}.run(t, "testdata/tf_variables.json.gz")
}

// variableForms goes through every way of assigning.
func variableForms(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	parts := strings.Split(c.ID, ".")
	spec := distribute.VariableSpec{Name: "v", DType: ir.Float32, Synchronization: synchronizations[parts[2]], Aggregation: aggregations[parts[3]]}
	require.Contains(t, synchronizations, parts[2])
	require.Contains(t, aggregations, parts[3])
	delta := perReplica(t, ir.Float32, c.Inputs["delta"])
	literal := arrayOf(t, ir.Float32, c.Inputs["literal"])
	forms := 0
	for form, want := range c.Map(t) {
		if form == "type" {
			continue
		}
		forms++
		v, err := distribute.Scope(s).NewVariable(spec)
		require.NoError(t, err)
		initial := arrayOf(t, ir.Float32, c.Inputs["init"])
		copies := components(t, v)
		start := make(distribute.PerReplica, len(copies))
		for i := range start {
			start[i] = initial
		}
		require.NoError(t, v.SetComponents(start))
		var read distribute.PerReplica
		if form == "replica_read_after_assign_add" {
			if _, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { r.AssignAdd(v, x); return nil }, delta); err == nil {
				read, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor { return ops.AddScalar(r.Read(v), 0) }, nil)
			}
		} else {
			err = assignForm(t, s, v, form, delta, literal)
		}
		switch {
		case tfvectors.IsError(want):
			require.Error(t, err, form)
			require.ErrorContains(t, err, "v", form)
			require.Equal(t, flat(start), components(t, v), "%s: an error leaves the variable as it was", form)
		case read != nil:
			require.NoError(t, err)
			c.Close(t, form, want, flat(read))
		default:
			require.NoError(t, err, form)
			c.Close(t, form, tfvectors.Get(want, "components"), components(t, v))
			value, err := v.Value()
			if crossRead := tfvectors.Get(want, "cross_replica_read"); tfvectors.IsError(crossRead) {
				require.ErrorContains(t, err, "aggregation None", form)
			} else {
				require.NoError(t, err, form)
				c.Close(t, form, crossRead, value.Float64s())
			}
		}
	}
	require.Equal(t, 13, forms)
}

// assignForm does "context.operation.argument".
func assignForm(t *testing.T, s distribute.Strategy, v *distribute.Variable, form string, delta distribute.PerReplica, literal kernels.Array) error {
	t.Helper()
	parts := strings.Split(form, ".")
	var err error
	switch parts[0] + "." + parts[2] {
	case "replica_context.per_replica":
		op := map[string]func(*distribute.Replica, *distribute.Variable, *ops.Tensor){
			"assign": (*distribute.Replica).Assign, "assign_add": (*distribute.Replica).AssignAdd, "assign_sub": (*distribute.Replica).AssignSub,
		}[parts[1]]
		_, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor { op(r, v, x); return nil }, delta)
	case "replica_context.literal":
		op := map[string]func(*distribute.Replica, *distribute.Variable, kernels.Array){
			"assign": (*distribute.Replica).AssignConstant, "assign_add": (*distribute.Replica).AssignAddConstant, "assign_sub": (*distribute.Replica).AssignSubConstant,
		}[parts[1]]
		_, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor { op(r, v, literal); return nil }, nil)
	case "cross_replica.literal":
		err = map[string]func(kernels.Array) error{"assign": v.Assign, "assign_add": v.AssignAdd, "assign_sub": v.AssignSub}[parts[1]](literal)
	case "extended_update.per_replica":
		_, err = s.Extended().Update(context.Background(), v, func(u *distribute.Component, args ...*ops.Tensor) *ops.Tensor {
			map[string]func(*ops.Tensor){"assign": u.Assign, "assign_add": u.AssignAdd, "assign_sub": u.AssignSub}[parts[1]](args[0])
			return nil
		}, delta)
	default:
		t.Fatalf("form %q", form)
	}
	return err
}

func variableCreation(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	specs := map[string]distribute.VariableSpec{
		"default":                {Name: "Variable", DType: ir.Float32},
		"sync_NONE":              {Name: "Variable", DType: ir.Float32, Synchronization: distribute.NoSynchronization},
		"on_read":                {Name: "Variable", DType: ir.Float32, Synchronization: distribute.OnRead, Aggregation: distribute.Sum, Frozen: true},
		"on_read_trainable_true": {Name: "Variable", DType: ir.Float32, Synchronization: distribute.OnRead, Aggregation: distribute.Sum},
		"bad_aggregation_string": {Name: "Variable", DType: ir.Float32, Aggregation: "SUM!"},
		"mean_int32":             {Name: "Variable", DType: ir.Int32, Aggregation: distribute.Mean},
		"sum_int32":              {Name: "Variable", DType: ir.Int32, Aggregation: distribute.Sum},
		"named":                  {Name: "w", DType: ir.Float32},
		"named_again":            {Name: "w", DType: ir.Float32},
	}
	for name, want := range c.Map(t) {
		spec, ok := specs[name]
		require.True(t, ok, name)
		v, err := distribute.Scope(s).NewVariable(spec)
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "variable Variable (made at distribute/tf_variables_test.go:", name)
			continue
		}
		require.NoError(t, err, name)
		require.True(t, s.Extended().VariableCreatedInScope(v))
		require.Len(t, components(t, v), c.Replicas())
		require.Equal(t, strings.TrimSuffix(tfvectors.Get(want, "name").(string), ":0"), v.Name())
		require.Equal(t, tfvectors.Get(want, "trainable"), !v.Spec().Frozen, name)
	}
}

// A value that is not distributed cannot be summed, not even 0.
func sumOfPlainValue(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32, Aggregation: distribute.Sum})
	require.NoError(t, err)
	for name, want := range c.Map(t) {
		require.True(t, tfvectors.IsError(want), name)
		value := 0.0
		if name == "tensor_same_object" {
			value = 2
		}
		_, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
			r.AssignAddConstant(v, array(t, ir.Float32, nil, value))
			return nil
		}, nil)
		require.ErrorContains(t, err, "that is not distributed cannot be summed over 2 replicas", name)
	}
}

func randomInit(t *testing.T, c *tfvectors.Case) {
	v, err := distribute.Scope(strategyOf(t, c)).NewVariable(distribute.VariableSpec{Name: "v", Shape: ir.Shape{4}, DType: ir.Float32, Initializer: series{}})
	require.NoError(t, err)
	got := components(t, v)
	require.Equal(t, got[:4], got[4:])
	require.Equal(t, []float64{0, 1, 2, 3}, got[:4])
}

// three is an initializer.
type three struct{}

func (three) Initialize(into kernels.Array, _ uint64) error { return into.SetFloat64s(0, []float64{3}) }

func createdInRun(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	var holder *distribute.Variable
	got, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		holder = distribute.NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32, Initializer: three{}})
		return ops.AddScalar(r.Read(holder), 0)
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []float64{3, 3}, flat(got))
	require.True(t, s.Extended().VariableCreatedInScope(holder))
}

// A variable that belongs to another strategy is not quietly shared (TensorFlow lets every replica write it, one after
// the other): it is an error that names it and both places.
func outsideScope(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v := distribute.NewVariable(distribute.VariableSpec{Name: "outsider", DType: ir.Float32})
	require.NoError(t, v.Place(distribute.Default(), 0))
	_, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		r.AssignAdd(v, ops.Ones(r, ir.Float32))
		return nil
	}, nil)
	require.ErrorContains(t, err, "variable outsider (made at distribute/tf_variables_test.go:")
	require.ErrorContains(t, err, "belongs to Default(cpu:0) and cannot be used under another strategy, Mirrored(cpu:0, cpu:1) made at distribute/tf_variables_test.go:")
}

func scatterForms(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	for form, want := range c.Map(t) {
		parts := strings.Split(form, ".")
		v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{
			Name: "v", Shape: ir.Shape{3}, DType: ir.Float32,
			Synchronization: synchronizations[strings.ToLower(parts[1])], Aggregation: aggregations[strings.ToLower(parts[2])],
		})
		require.NoError(t, err)
		initial := arrayOf(t, ir.Float32, c.Inputs["init"])
		require.NoError(t, v.SetComponents(distribute.PerReplica{initial, initial}))
		_, err = onReplicas(t, s, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
			sl := distribute.IndexedSlices{Indices: ops.Constant(r, ir.Int32, ir.Shape{2}, tfvectors.Values(t, c.Inputs["indices"])), Values: x, DenseShape: []int{3}}
			map[string]func(*distribute.Variable, distribute.IndexedSlices){
				"scatter_add": r.ScatterAdd, "scatter_sub": r.ScatterSub, "scatter_mul": r.ScatterMul, "scatter_div": r.ScatterDiv,
				"scatter_min": r.ScatterMin, "scatter_max": r.ScatterMax, "scatter_update": r.ScatterUpdate,
			}[parts[0]](v, sl)
			return nil
		}, distribute.PerReplica{array(t, ir.Float32, ir.Shape{2}, 1, 2), array(t, ir.Float32, ir.Shape{2}, 2, 4)})
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "variable v", form)
			continue
		}
		require.NoError(t, err, form)
		c.Close(t, form, want, components(t, v))
	}
}

func onReadAllReduce(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32, Synchronization: distribute.OnRead, Aggregation: distribute.OnlyFirstReplica})
	require.NoError(t, err)
	got, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		r.Assign(v, ops.MultiplyScalar(ops.Cast(r.ID(), ir.Float32), 3))
		return r.AllReduce(ir.Sum, r.Read(v))[0]
	}, nil)
	require.NoError(t, err)
	c.Close(t, "per_replica", c.Map(t)["per_replica"], flat(got))
}

func syncOnRead(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32, Synchronization: distribute.OnRead, Aggregation: distribute.Sum})
	require.NoError(t, err)
	got, err := onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		r.Assign(v, ops.Ones(r, ir.Float32))
		return ops.AddScalar(r.Read(v), 10)
	}, nil)
	require.NoError(t, err)
	c.Close(t, "plain", c.Map(t)["plain"], flat(got))
	got, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor { return r.ReadSynchronized(v) }, nil)
	require.NoError(t, err)
	c.Close(t, "inside_converted_to_tensor", c.Map(t)["inside_converted_to_tensor"], flat(got))
}

func deepCopy(t *testing.T, c *tfvectors.Case) {
	v, err := distribute.Scope(strategyOf(t, c)).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32})
	require.NoError(t, err)
	require.NoError(t, v.Assign(array(t, ir.Float32, nil, 7)))
	w, err := v.Clone()
	require.NoError(t, err)
	require.NoError(t, w.Assign(array(t, ir.Float32, nil, 8)))
	c.Close(t, "original", c.Map(t)["original"], components(t, v))
	c.Close(t, "copy", c.Map(t)["copy"], components(t, w))
}

func crossReadDevice(t *testing.T, c *tfvectors.Case) {
	s := strategyOf(t, c)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32})
	require.NoError(t, err)
	_, err = onReplicas(t, s, func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
		r.Assign(v, ops.AddScalar(ops.Cast(r.ID(), ir.Float32), 1))
		return nil
	}, nil)
	require.NoError(t, err)
	for name, want := range c.Map(t) {
		a, err := v.Value()
		if device, found := strings.CutPrefix(name, "on_"); found {
			a, err = v.ValueOn(device)
		}
		require.NoError(t, err)
		c.Close(t, name, want, a.Float64s())
	}
	require.ErrorContains(t, distribute.Variables{v}.CheckMirrored(), "the copies of variable v (made at distribute/tf_variables_test.go:")
}
