package keras_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// replicaCase is a kind of model and data that every strategy must train alike.
type replicaCase struct {
	name      string
	layers    func() []layers.Layer
	input     []int
	optimizer func() optimizers.Optimizer
	loss      any
	labels    func(rng *rand.Rand, n int) any
}

func replicaCases() []replicaCase {
	classes := func(rng *rand.Rand, n int) any {
		y := make([]int, n)
		for i := range y {
			y[i] = rng.IntN(3)
		}
		return y
	}
	targets := func(rng *rand.Rand, n int) any {
		y := make([][]float64, n)
		for i := range y {
			y[i] = []float64{rng.NormFloat64(), rng.NormFloat64()}
		}
		return y
	}
	sparse := &losses.SparseCategoricalCrossentropy{FromLogits: true}
	return []replicaCase{
		{
			name: "dense sgd", input: []int{4}, loss: "mse", labels: targets,
			layers: func() []layers.Layer {
				return []layers.Layer{
					&layers.Dense{Units: 5, Activation: "tanh", KernelRegularizer: "l2", ActivityRegularizer: "l1"},
					&layers.Dense{Units: 2},
				}
			},
			optimizer: func() optimizers.Optimizer {
				return &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9}
			},
		},
		{
			name: "convolution adam", input: []int{6, 5, 2}, loss: sparse, labels: classes,
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
				return &optimizers.Adam{LearningRate: 0.01, Options: optimizers.Options{ClipNorm: new(0.5), WeightDecay: new(0.01)}}
			},
		},
	}
}

// train runs 20 steps on n replicas and returns the loss of each epoch and the final weights.
func (rc replicaCase) train(t *testing.T, n int, dtype string, weighted bool, batch int) ([]float64, []kernels.Array) {
	t.Helper()
	devices := make([]string, n)
	for i := range devices {
		devices[i] = fmt.Sprintf("cpu:%d", i)
	}
	strategy, err := distribute.NewMirroredStrategy(devices...)
	require.NoError(t, err)
	return rc.trainUnder(t, strategy, dtype, weighted, batch)
}

// trainUnder is train under a given strategy.
func (rc replicaCase) trainUnder(t *testing.T, strategy distribute.Strategy, dtype string, weighted bool, batch int) ([]float64, []kernels.Array) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 11))
	const examples = 37
	size := 1
	for _, d := range rc.input {
		size *= d
	}
	values := make([]float64, examples*size)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	x := data.Must(data.ArrayOf(values, append([]int{examples}, rc.input...)...))
	var options []data.ArrayOption
	if weighted {
		w := make([]float64, examples)
		for i := range w {
			w[i] = rng.Float64() * 2
		}
		options = append(options, data.SampleWeight(w))
	}
	source := data.Arrays(x, rc.labels(rng, examples), options...)

	m, err := keras.NewSequential(rc.layers(), distribute.Scope(strategy), keras.DTypePolicy(dtype), keras.Seed(3), keras.InputShape(rc.input...))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: rc.optimizer(), Loss: rc.loss}))
	steps := (examples + batch - 1) / batch
	history, err := m.Fit(context.Background(), source, keras.BatchSize(batch), keras.Epochs((20+steps-1)/steps))
	require.NoError(t, err)
	weights, err := m.GetWeights()
	require.NoError(t, err)
	return history.Logs["loss"], weights
}

func close64(t *testing.T, what string, want, got []float64, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i := range want {
		if !(math.Abs(want[i]-got[i]) <= tolerance*max(scale, 1e-3)) {
			t.Fatalf("%s[%d]: %v with one replica, %v with several (largest value %v, tolerance %v)", what, i, want[i], got[i], scale, tolerance)
		}
	}
}

// The central property: N replicas equal one replica on the joined batch. A batch of 8 over 37 examples ends with one
// of 5, so parts are uneven; a batch of 3 leaves replicas without examples.
func TestReplicasEqualOne(t *testing.T) {
	for _, rc := range replicaCases() {
		for _, dtype := range []string{"float32", "float64"} {
			tolerance := map[string]float64{"float32": 1e-5, "float64": 1e-10}[dtype]
			for _, batch := range []int{8, 3} {
				for _, weighted := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/batch %d/weighted %v", rc.name, dtype, batch, weighted), func(t *testing.T) {
						wantLoss, wantWeights := rc.train(t, 1, dtype, weighted, batch)
						for _, n := range []int{2, 3, 4} {
							loss, weights := rc.train(t, n, dtype, weighted, batch)
							close64(t, fmt.Sprintf("%d replicas: loss", n), wantLoss, loss, tolerance)
							for i := range weights {
								close64(t, fmt.Sprintf("%d replicas: weight %d", n, i), wantWeights[i].Float64s(), weights[i].Float64s(), 10*tolerance)
							}
							again, same := rc.train(t, n, dtype, weighted, batch)
							require.Equal(t, loss, again, "same seed, same number of replicas: the same bits")
							require.Equal(t, weights, same)
						}
					})
				}
			}
		}
	}
}

// recorder records the running loss at the end of every batch.
type recorder struct {
	callbacks.Base
	losses []float64
}

func (r *recorder) OnTrainBatchEnd(_ int, logs *callbacks.Logs) error {
	loss, _ := logs.Get("loss")
	r.losses = append(r.losses, loss)
	return logs.Err()
}

// With the same seed, dropout and shuffling repeat bit for bit; without one they differ.
func TestSeedRepeats(t *testing.T) {
	run := func(seed uint64) []float64 {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Dense{Units: 16, Activation: "relu"}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 1},
		}, keras.Seed(seed))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		x, y := line(64)
		r := &recorder{}
		_, err = m.Fit(context.Background(), data.Arrays(x, y), keras.Epochs(3), keras.BatchSize(16), keras.Callbacks(r))
		require.NoError(t, err)
		require.Len(t, r.losses, 12)
		return r.losses
	}
	require.Equal(t, run(5), run(5))
	require.NotEqual(t, run(5), run(6))
}

// line returns n examples of y = 2x₀ - x₁ + 0.5.
func line(n int) (x [][]float32, y []float32) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		a, b := rng.Float32(), rng.Float32()
		x, y = append(x, []float32{a, b}), append(y, 2*a-b+0.5)
	}
	return x, y
}
