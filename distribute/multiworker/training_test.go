package multiworker_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// training is one kind of model and data; every number of workers must train it alike.
type training struct {
	name      string
	layers    func() []layers.Layer
	input     []int
	optimizer func() optimizers.Optimizer
	loss      any
	metric    func() metrics.Metric
	classes   int // 0: regression with two targets
}

func trainings() []training {
	sparse := &losses.SparseCategoricalCrossentropy{FromLogits: true}
	accuracy := func() metrics.Metric { return &metrics.SparseCategoricalAccuracy{} }
	return []training{
		{
			name: "mlp", input: []int{4}, loss: "mse", metric: func() metrics.Metric { return &metrics.MeanAbsoluteError{} },
			layers: func() []layers.Layer {
				return []layers.Layer{
					&layers.Dense{Units: 5, Activation: "tanh", KernelRegularizer: "l2", ActivityRegularizer: "l1"}, &layers.Dense{Units: 2},
				}
			},
			optimizer: func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.05, Momentum: 0.9} },
		},
		{
			name: "convolution", input: []int{6, 5, 2}, loss: sparse, classes: 3, metric: accuracy,
			layers: func() []layers.Layer {
				return []layers.Layer{
					&layers.Conv2D{Filters: 3, KernelSize: []int{3}, Padding: "same", Activation: "tanh"},
					&layers.BatchNormalization{Synchronized: true},
					&layers.AveragePooling2D{PoolSize: []int{2}},
					&layers.Flatten{},
					&layers.Dense{Units: 3},
				}
			},
			optimizer: func() optimizers.Optimizer {
				return &optimizers.SGD{LearningRate: 0.05, Momentum: 0.9, Options: optimizers.Options{ClipNorm: new(0.5), WeightDecay: new(0.01)}}
			},
		},
		{
			name: "lstm", input: []int{5, 3}, loss: sparse, classes: 3, metric: accuracy,
			layers: func() []layers.Layer { return []layers.Layer{&layers.LSTM{Units: 4}, &layers.Dense{Units: 3}} },
			optimizer: func() optimizers.Optimizer {
				return &optimizers.Adam{LearningRate: 0.01, Epsilon: new(1e-3)}
			},
		},
	}
}

const examples = 37

// arrays makes the data, equal in every process.
func (tr training) arrays(weighted bool) *data.ArraySource {
	rng := rand.New(rand.NewPCG(7, 11))
	size := 1
	for _, d := range tr.input {
		size *= d
	}
	x, w := make([]float64, examples*size), make([]float64, examples)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range w {
		w[i] = rng.Float64() * 2
	}
	var y any
	if tr.classes > 0 {
		labels := make([]int, examples)
		for i := range labels {
			labels[i] = rng.IntN(tr.classes)
		}
		y = labels
	} else {
		targets := make([][]float64, examples)
		for i := range targets {
			targets[i] = []float64{rng.NormFloat64(), rng.NormFloat64()}
		}
		y = targets
	}
	var options []data.ArrayOption
	if weighted {
		options = append(options, data.SampleWeight(w))
	}
	return data.Arrays(data.Must(data.ArrayOf(x, append([]int{examples}, tr.input...)...)), y, options...)
}

// variant is one way to train.
type variant struct {
	dtype     string
	batch     int
	weighting string // "", "sample", "class"
}

func variants() []variant {
	return []variant{{"float32", 8, ""}, {"float64", 8, "sample"}, {"float64", 8, "class"}, {"float64", 3, ""}, {"float32", 3, "sample"}}
}

// result is what a run ends with.
type result struct {
	Name    string
	Steps   int
	Loss    []float64
	Metric  []float64
	Scores  map[string]float64
	Weights [][]float64
	Labels  []float64 // predictions
}

func (tr training) model(s distribute.Strategy, dtype string) (*keras.Model, error) {
	m, err := keras.NewSequential(tr.layers(), distribute.Scope(s), keras.DTypePolicy(dtype), keras.Seed(3), keras.InputShape(tr.input...))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(keras.CompileConfig{Optimizer: tr.optimizer(), Loss: tr.loss, Metrics: []metrics.Metric{tr.metric()}})
}

// train runs at least 100 steps.
func (tr training) train(ctx context.Context, s distribute.Strategy, v variant) (*result, error) {
	m, err := tr.model(s, v.dtype)
	if err != nil {
		return nil, err
	}
	steps := (examples + v.batch - 1) / v.batch
	epochs := (100 + steps - 1) / steps
	options := []keras.FitOption{keras.BatchSize(v.batch), keras.Epochs(epochs)}
	if v.weighting == "class" && tr.classes > 0 {
		options = append(options, keras.ClassWeight(map[int]float64{0: 0.5, 2: 2}))
	}
	h, err := m.Fit(ctx, tr.arrays(v.weighting == "sample"), options...)
	if err != nil {
		return nil, err
	}
	out := &result{Name: fmt.Sprint(tr.name, v), Steps: steps * epochs, Loss: h.Logs["loss"]}
	for name, values := range h.Logs {
		if name != "loss" {
			out.Metric = values
		}
	}
	if out.Scores, err = m.Evaluate(ctx, tr.arrays(false), keras.BatchSize(5)); err != nil {
		return nil, err
	}
	weights, err := m.GetWeights()
	if err != nil {
		return nil, err
	}
	for _, w := range weights {
		out.Weights = append(out.Weights, w.Float64s())
	}
	labels, err := m.Predict(ctx, data.Arrays(tr.arrays(false).All().X.Arrays[0], nil))
	if err != nil {
		return nil, err
	}
	switch values := labels.Elements().(type) {
	case []float32:
		for _, x := range values {
			out.Labels = append(out.Labels, float64(x))
		}
	case []float64:
		out.Labels = values
	}
	return out, nil
}

func trainAll(ctx context.Context, s distribute.Strategy) ([]*result, error) {
	var out []*result
	for _, tr := range trainings() {
		for _, v := range variants() {
			r, err := tr.train(ctx, s, v)
			if err != nil {
				return nil, fmt.Errorf("%s %v: %w", tr.name, v, err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func trainRole(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
	return trainAll(ctx, s)
}

func near(t *testing.T, what string, want, got []float64, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	scale := 1e-3
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i := range want {
		if !(math.Abs(want[i]-got[i]) <= tolerance*scale) {
			t.Fatalf("%s[%d]: %v with one replica, %v with several workers (largest value %v, tolerance %v)", what, i, want[i], got[i], scale, tolerance)
		}
	}
}

// k workers equal one replica on the joined batch: the central property. Batches of 8 over 37 examples end with one of
// 5, so that parts are uneven; batches of 3 end with one of 1, so that workers have no example.
func TestWorkersEqualOneReplica(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	want, err := trainAll(t.Context(), distribute.Default())
	require.NoError(t, err)
	for _, c := range []struct {
		role    string
		workers int
	}{{"train", 2}, {"train over the network", 3}, {"train in small packs", 2}, {"train with two replicas", 2}} {
		t.Run(fmt.Sprint(c.role, " ", c.workers), func(t *testing.T) {
			workers := all[[]*result](start(t, c.workers, c.role, ""))
			for i, w := range want {
				tolerance := 1e-10
				if variants()[i%len(variants())].dtype == "float32" {
					tolerance = 1e-5
				}
				for rank, results := range workers {
					got, what := results[i], fmt.Sprintf("%s, worker %d: ", w.Name, rank)
					require.GreaterOrEqual(t, got.Steps, 100)
					near(t, what+"loss", w.Loss, got.Loss, tolerance)
					near(t, what+"metric", w.Metric, got.Metric, 10*tolerance)
					near(t, what+"predictions", w.Labels, got.Labels, 10*tolerance)
					for k := range w.Weights {
						near(t, fmt.Sprint(what, "weight ", k), w.Weights[k], got.Weights[k], 10*tolerance)
					}
					require.Len(t, got.Scores, len(w.Scores))
					for name, score := range w.Scores {
						near(t, what+name, []float64{score}, []float64{got.Scores[name]}, 10*tolerance)
					}
					require.Equal(t, workers[0][i], got, "all workers have the same bits")
				}
			}
		})
	}
}
