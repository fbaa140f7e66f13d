package coordinator_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// mlp is the recorded model: 4 inputs, 6 hidden units, 3 classes.
func mlp(t testing.TB, s distribute.Strategy) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 6, Activation: "relu"}, &layers.Dense{Units: 3}}, keras.InputShape(4), keras.Seed(1), distribute.Scope(s))
	require.NoError(t, err)
	return m
}

func setWeights(t testing.TB, m *keras.Model, initial any) {
	t.Helper()
	for i, v := range m.Weights() {
		a, err := kernels.FromFloat64s(ir.Float32, v.Type().Shape, tfvectors.Values(t, tfvectors.Get(initial, i)))
		require.NoError(t, err)
		require.NoError(t, v.SetValue(a))
	}
}

// everywhere runs a program on the workers and the coordinator of a job at the same time.
func everywhere(t *testing.T, j *testJob, program func(s *distribute.ParameterServerStrategy) error) {
	t.Helper()
	var wait sync.WaitGroup
	for _, s := range j.workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := program(s); err != nil {
				t.Errorf("worker %d: %v", s.Worker(), err)
			}
		}()
	}
	if err := program(j.coordinate().Strategy()); err != nil {
		t.Errorf("coordinator: %v", err)
	}
	wait.Wait()
}

func recordedData(t testing.TB, c *tfvectors.Case) (x, y data.Array) {
	t.Helper()
	shape, numbers := tfvectors.Floats(t, c.Inputs["x"])
	values := make([]float32, len(numbers))
	for i, v := range numbers {
		values[i] = float32(v)
	}
	var labels []int32
	for _, v := range tfvectors.Values(t, c.Inputs["y"]) {
		labels = append(labels, int32(v))
	}
	return data.Must(data.ArrayOf(values, shape...)), data.Must(data.ArrayOf(labels, len(labels)))
}

// shardedModelWeights: here the shards are one weight to layers, so that there are as many as without servers.
// (TensorFlow lists each shard.)
func shardedModelWeights(t *testing.T, c *tfvectors.Case) {
	j := startJob(t, 1, 2, nil, nil)
	m := mlp(t, j.coordinate().Strategy())
	require.Len(t, m.Weights(), 4)
	rows := 0.0
	for _, w := range c.Map(t)["weights"].([]any)[:2] {
		rows += tfvectors.Get(w, 1, 0).(float64)
	}
	require.EqualValues(t, rows, m.Weights()[0].Type().Shape[0])
}

func fit(t *testing.T, c *tfvectors.Case) {
	x, y := recordedData(t, c)
	j := startJob(t, 2, 2, nil, nil)
	history := c.Map(t)["history"]
	everywhere(t, j, func(s *distribute.ParameterServerStrategy) error {
		m := mlp(t, s)
		setWeights(t, m, c.Inputs["initial_weights"])
		optimizer := &optimizers.SGD{LearningRate: 0.1}
		if err := m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}); err != nil {
			return err
		}
		h, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(32), keras.StepsPerEpoch(4), keras.Epochs(2), keras.Shuffle(false))
		if err != nil {
			return err
		}
		require.Len(t, h.Logs["loss"], len(tfvectors.Values(t, tfvectors.Get(history, "loss"))))
		require.Less(t, h.Logs["loss"][1], h.Logs["loss"][0])
		require.InDelta(t, tfvectors.Values(t, tfvectors.Get(history, "loss"))[1], h.Logs["loss"][1], 0.05, "asynchronous, so one run's")
		if s.IsCoordinator() {
			n, err := optimizer.Updates()
			require.NoError(t, err)
			require.EqualValues(t, c.Map(t)["iterations"], n)
			scores, err := m.Evaluate(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			require.InDelta(t, tfvectors.Number(t, tfvectors.Get(c.Map(t)["evaluate"], "loss")), scores["loss"], 0.02)
		}
		return nil
	})
}

// fitErrors: what TensorFlow refuses is refused, but for callbacks of batches, which work here.
func fitErrors(t *testing.T, _ *tfvectors.Case) {
	m := mlp(t, startJob(t, 1, 1, nil, nil).coordinate().Strategy())
	x, y := data.Must(data.Zeros[float32](4, 4)), data.Must(data.Zeros[int32](4))
	fit := func(optimizer any, options ...keras.FitOption) error {
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
		_, err := m.Fit(t.Context(), data.Arrays(x, y), options...)
		return err
	}
	require.ErrorContains(t, fit("sgd"), "set StepsPerEpoch")
	require.ErrorContains(t, fit("lion", keras.StepsPerEpoch(1)), "they know SGD, Adagrad, Adam")
	require.ErrorContains(t, fit(&optimizers.Adam{AMSGrad: true}, keras.StepsPerEpoch(1)), "with AMSGrad")
	p, err := m.Predict(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	require.Equal(t, []int{4, 3}, p.Shape())
}

// customLoop: with one closure at a time a custom loop is plain gradient descent.
func customLoop(t *testing.T, c *tfvectors.Case) {
	x, y := recordedData(t, c)
	var step *coordinator.Function
	var weights *coordinator.Weights
	j := startJob(t, 2, 2, nil, func(ctx context.Context, co *coordinator.ClusterCoordinator) error {
		m := mlp(t, co.Strategy())
		setWeights(t, m, c.Inputs["initial_weights"])
		w, err := co.Weights(ctx, "mlp", m.TrainableVariables(), func(*distribute.Variable) (parameters.Rule, error) {
			return parameters.Rule{Kind: parameters.SGD}, nil
		})
		if err != nil {
			return err
		}
		loss := &losses.SparseCategoricalCrossentropy{FromLogits: true}
		gradients := distribute.NewFunction(co.Strategy(), "gradients", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			average := losses.ComputeAverage(loss.PerExample(in[1], m.Call(r.Training(), in[0])), 8)
			return append(ops.NewTape(r).Gradients(average, m.TrainableVariables()).Values, average)
		})
		weights = w
		step = co.Function("step", func(cl *coordinator.Closure) (any, error) {
			if err := cl.Pull(w); err != nil {
				return nil, err
			}
			out, err := runFunction(cl.Context(), gradients, x, y)
			if err != nil {
				return nil, err
			}
			n := len(out) - 1
			return out[n].Element(0), cl.Apply(w, 0.1, out[:n])
		})
		return nil
	})
	co := j.coordinate()
	var got []float64
	for range 4 {
		v, err := co.Schedule(t.Context(), step)
		require.NoError(t, err)
		require.NoError(t, co.Join(t.Context()))
		loss, err := v.Fetch(t.Context())
		require.NoError(t, err)
		got = append(got, loss.(float64))
	}
	c.Within(t, "losses", c.Map(t)["losses"], got, 1e-6, 1e-5)
	require.NoError(t, weights.Pull(t.Context()))
	for i, v := range weights.Variables() {
		a, err := v.Value()
		require.NoError(t, err)
		c.Within(t, v.Path(), tfvectors.Get(c.Map(t)["weights"], i), a.Float64s(), 1e-6, 1e-5)
	}
}

// runFunction runs a function on the examples of x and y.
func runFunction(ctx context.Context, f *distribute.Function, x, y data.Array) ([]kernels.Array, error) {
	inst, err := f.Acquire([][]ir.Type{{{DType: ir.Float32, Shape: ir.Shape(x.Shape())}, {DType: ir.Int32, Shape: ir.Shape(y.Shape())}}}, []int{x.Shape()[0]})
	if err != nil {
		return nil, err
	}
	defer f.Release(inst)
	for i, a := range []data.Array{x, y} {
		if err := inst.Input(0, i).Write(a.Data); err != nil {
			return nil, err
		}
	}
	if err := inst.Run(ctx, 0, 0); err != nil {
		return nil, err
	}
	var out []kernels.Array
	for i := range 5 {
		a := kernels.NewArray(inst.Output(0, i).Type())
		if err := inst.Output(0, i).Read(a.Data); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// shardedCheckpoint: a file of a model under servers is that of the same model elsewhere, both ways.
func shardedCheckpoint(t *testing.T, _ *tfvectors.Case) {
	path := filepath.Join(t.TempDir(), "m.weights.h5")
	numbers := make([]float32, 32)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	x, y := data.Must(data.ArrayOf(numbers, 8, 4)), data.Must(data.Zeros[int32](8))
	var want [][]float64
	values := func(m *keras.Model) (out [][]float64) {
		for _, v := range m.Weights() {
			a, err := v.Value()
			require.NoError(t, err)
			out = append(out, a.Float64s())
		}
		return out
	}
	everywhere(t, startJob(t, 1, 2, nil, nil), func(s *distribute.ParameterServerStrategy) error {
		m := mlp(t, s)
		if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}); err != nil {
			return err
		}
		if _, err := m.Fit(t.Context(), data.Arrays(x, y), keras.StepsPerEpoch(2)); err != nil {
			return err
		}
		if s.IsCoordinator() {
			want = values(m)
		}
		return m.SaveWeights(path)
	})
	plain := mlp(t, distribute.Default())
	require.NoError(t, plain.LoadWeights(path))
	require.Equal(t, want, values(plain))
	everywhere(t, startJob(t, 1, 2, nil, nil), func(s *distribute.ParameterServerStrategy) error { // and it continues from the file
		m := mlp(t, s)
		if err := m.LoadWeights(path); err != nil {
			return err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.0}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}); err != nil {
			return err
		}
		_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.StepsPerEpoch(1))
		require.Equal(t, want, values(m))
		return err
	})
}
