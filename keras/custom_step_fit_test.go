package keras_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// Every strategy trains every step like one replica with the whole batch, even if the last batch leaves replicas empty.
func TestStepsOnReplicas(t *testing.T) {
	f := loadSteps(t)
	central, err := distribute.NewCentralStorageStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	for _, name := range []string{"gan", "wgan", "vae", "own"} {
		c := f.find(t, name)
		c.BatchSize = 7 // batches of 7, 7, 7, 1
		one, _ := stepModel(t, c)
		wantHistory, wantScores := f.train(t, c, one)
		want, err := one.GetWeights()
		require.NoError(t, err)
		for what, s := range map[string]distribute.Strategy{"2": mirrored(t, "cpu:0", "cpu:1"), "3": mirrored(t, "cpu:0", "cpu:1", "cpu:2"), "central": central} {
			if name == "own" && what == "central" {
				continue // it clips sums of gradients, which needs one copy of each weight
			}
			t.Run(name+"/"+what, func(t *testing.T) {
				m, _ := stepModel(t, c, distribute.Scope(s))
				history, scores := f.train(t, c, m)
				require.Equal(t, wantHistory.Names(), history.Names())
				for log, values := range wantHistory.Logs {
					near(t, log, values, history.Logs[log], 1e-9)
				}
				for log, value := range wantScores {
					near(t, log, []float64{value}, []float64{scores[log]}, 1e-9)
				}
				got, err := m.GetWeights()
				require.NoError(t, err)
				for i, w := range want {
					near(t, m.Weights()[i].Path(), w.Float64s(), got[i].Float64s(), 1e-9)
				}
			})
		}
	}
}

// plain is Keras's own step, written out.
func plain(s *keras.Step) keras.StepLogs {
	yPred := s.Model().Call(s.Training(), s.X...)
	s.Minimize(s.Optimizer(), s.ComputeLoss(yPred), s.Model().TrainableVariables())
	return s.ComputeMetrics(yPred)
}

// A step that does the same as Fit's own gives the same bits: with dropout, class weights, validation, and through
// TrainOnBatch and Evaluate.
func TestPlainStep(t *testing.T) {
	run := func(custom bool, policy string) ([]float64, map[string]float64, map[string]float64, any) {
		m := sequential(t, []keras.Option{keras.Seed(3), distribute.Scope(mirrored(t, "cpu:0", "cpu:1")), keras.DTypePolicy(policy)},
			&layers.Dense{Units: 5, Activation: "relu", KernelRegularizer: "l2"}, &layers.Dropout{Rate: 0.3}, &layers.Dense{Units: 3, Activation: "softmax"})
		c := keras.CompileConfig{Optimizer: &optimizers.Adam{}, Loss: "sparse_categorical_crossentropy", Metrics: []string{"accuracy"}, WeightedMetrics: []string{"accuracy"}}
		if custom {
			c.TrainStep = plain
			c.TestStep = func(s *keras.Step) keras.StepLogs {
				yPred := s.Model().Call(s.Inference(), s.X...)
				s.ComputeLoss(yPred)
				return s.ComputeMetrics(yPred)
			}
		}
		compile(t, m, c)
		ds := data.Arrays(grid(19, 4), cycle(19, 3))
		h, err := m.Fit(t.Context(), ds, keras.Epochs(3), keras.BatchSize(4), keras.ValidationSplit(0.3), keras.ClassWeight(map[int]float64{1: 2}))
		require.NoError(t, err)
		require.Equal(t, []string{"accuracy", "loss", "val_accuracy", "val_loss", "val_weighted_accuracy", "weighted_accuracy"}, h.Names())
		batch, err := m.TrainOnBatch(t.Context(), ds)
		require.NoError(t, err)
		scores, err := m.Evaluate(t.Context(), ds)
		require.NoError(t, err)
		w, err := m.GetWeights()
		require.NoError(t, err)
		if policy == "float32" {
			n, err := m.Iterations()
			require.NoError(t, err)
			require.EqualValues(t, 13, n)
		}
		return append(h.Logs["loss"], h.Logs["val_loss"]...), batch, scores, w
	}
	for _, policy := range []string{"float32", "mixed_float16"} {
		h1, b1, s1, w1 := run(false, policy)
		h2, b2, s2, w2 := run(true, policy)
		require.Equal(t, h1, h2)
		require.Equal(t, b1, b2)
		require.Equal(t, s1, s2)
		require.Equal(t, w1, w2)
	}
}

// A model file stores the weights and the compiled optimizer, but not the step, which Compile sets again.
func TestStepModelFile(t *testing.T) {
	f := loadSteps(t)
	c := f.find(t, "own")
	m, _ := stepModel(t, c)
	f.train(t, c, m)
	path := filepath.Join(t.TempDir(), "own.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.NoError(t, again.Compile(keras.CompileConfig{Optimizer: again.Optimizer(), Loss: "mse", WeightedMetrics: []string{"mae"}, TrainStep: clipped}))
	h1, _ := f.train(t, c, m)
	h2, _ := f.train(t, c, again)
	for name, want := range h1.Logs {
		near(t, name, want, h2.Logs[name], 1e-6) // losses of the loaded model are float32
	}
}

// Targets by name reach a step although no output has a loss; class weights need labels.
func TestStepTargets(t *testing.T) {
	in := keras.Input(keras.Shape(3))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 2, Name: "a"}, in), layers.Apply(&layers.Dense{Units: 2, Name: "b"}, in)))
	require.NoError(t, err)
	step := func(s *keras.Step) keras.StepLogs {
		out := s.Model().CallAll(s.Training(), s.X...)
		loss := s.Mean(ops.Square(ops.Subtract(ops.Add(out[0], out[1]), ops.Add(s.Y[0], s.Y[1]))))
		s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
		return keras.StepLogs{"loss": loss}
	}
	compile(t, m, keras.CompileConfig{TrainStep: step})
	_, err = m.Fit(t.Context(), data.Arrays(grid(4, 3), map[string]any{"b": grid(4, 2), "a": grid(4, 2)}))
	require.NoError(t, err)
	_, err = m.Fit(t.Context(), data.Arrays(grid(4, 3), []any{grid(4, 2), grid(4, 2)}), keras.ClassWeight(map[int]float64{0: 1}))
	require.ErrorContains(t, err, "ClassWeight needs data with one array of targets, the labels; received 2")
}

// noisy is a GAN without Call. Its step draws the noise and builds the layers.
type noisy struct {
	Discriminator, Generator *keras.Model
	Optimizers               []optimizers.Optimizer
	Guessed                  *metrics.Mean
}

func (n *noisy) TrainStep(s *keras.Step) keras.StepLogs {
	real := s.X[0]
	noise := ops.RandomNormal(s, real.DType(), 0, 1, 1, real.Dim(0), ganLatent)
	fake := n.Generator.Call(s.Training(), noise)
	guess := n.Discriminator.Call(s.Training(), fake)
	dLoss := ops.Subtract(s.Mean(ops.Square(guess)), s.Mean(n.Discriminator.Call(s.Training(), real)))
	gLoss := ops.Negative(s.Mean(guess))
	gradients := ops.NewTape(s).Gradients(gLoss, n.Generator.TrainableVariables())
	s.Minimize(n.Optimizers[0], dLoss, n.Discriminator.TrainableVariables())
	s.Apply(n.Optimizers[1], gradients)
	n.Guessed.UpdateValues(guess, nil)
	return keras.StepLogs{"d_loss": dLoss, "g_loss": gLoss, "guessed": n.Guessed}
}

func newNoisy(t testing.TB, options ...keras.Option) (*noisy, *keras.Model) {
	t.Helper()
	named := func(name string, list ...layers.Layer) *keras.Model {
		return sequential(t, []keras.Option{keras.Name(name)}, list...)
	}
	n := &noisy{
		Discriminator: named("discriminator", &layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 1}),
		Generator:     named("generator", &layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dense{Units: 5}),
		Optimizers:    []optimizers.Optimizer{&optimizers.Adam{LearningRate: 0.01}, &optimizers.SGD{LearningRate: 0.01, Momentum: 0.9, Options: optimizers.Options{UseEMA: true}}},
		Guessed:       metrics.NewMean("guessed"),
	}
	m, err := keras.NewModel(n, options...)
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{}))
	return n, m
}

// A run that continues from a backup ends with the same bits as an uninterrupted one: weights, the state of both
// optimizers, and random numbers.
func TestStepBackup(t *testing.T) {
	ds := data.Arrays(grid(20, 5), nil)
	fit := func(m *keras.Model, epochs int, list ...callbacks.Callback) *keras.History {
		h, err := m.Fit(t.Context(), ds, keras.Epochs(epochs), keras.BatchSize(8), keras.Callbacks(list...))
		require.NoError(t, err)
		return h
	}
	states := func(m *keras.Model) any {
		o, err := m.OptimizerArrays()
		require.NoError(t, err)
		w, err := m.GetWeights()
		require.NoError(t, err)
		require.Len(t, o, 2+8+2+8) // Adam: two slots each; SGD: an average and a momentum each
		return append(o, w...)
	}
	_, whole := newNoisy(t)
	want := fit(whole, 5)

	dir := filepath.Join(t.TempDir(), "backup")
	_, first := newNoisy(t)
	stop := errors.New("power cut")
	broken := &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
		if first.Progress().Epoch == 3 {
			return stop
		}
		return nil
	}}
	_, err := first.Fit(t.Context(), ds, keras.Epochs(5), keras.BatchSize(8), keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: dir}, broken))
	require.ErrorIs(t, err, stop)
	_, second := newNoisy(t)
	h := fit(second, 5, &callbacks.BackupAndRestore{BackupDir: dir})
	require.Equal(t, want.Epoch, h.Epoch)
	require.Equal(t, want.Logs["d_loss"], h.Logs["d_loss"])
	require.Equal(t, want.Logs["guessed"], h.Logs["guessed"])
	require.Equal(t, states(whole), states(second))

	_, err = second.LearningRate()
	require.ErrorContains(t, err, "TrainStep uses 2 optimizers")
	require.Nil(t, second.Optimizer())
	require.ErrorContains(t, second.SetLearningRate(1), "TrainStep uses 2 optimizers")
}

// Weights files store all optimizers; a model that has trained once takes over their state.
func TestStepWeightsFile(t *testing.T) {
	f := loadSteps(t)
	c := f.find(t, "gan")
	path := filepath.Join(t.TempDir(), "gan.weights.h5")
	m, _ := stepModel(t, c)
	f.train(t, c, m)
	require.NoError(t, m.SaveWeights(path))
	require.ErrorContains(t, m.Save(filepath.Join(t.TempDir(), "gan.keras")), "SaveWeights")

	again, _ := stepModel(t, c)
	_, err := again.TrainOnBatch(t.Context(), f.data(4))
	require.NoError(t, err)
	var report keras.LoadReport
	require.NoError(t, again.LoadWeights(path, keras.Report(&report)))
	require.Empty(t, report.Unused)
	want, err := m.OptimizerArrays()
	require.NoError(t, err)
	got, err := again.OptimizerArrays()
	require.NoError(t, err)
	require.Equal(t, want, got)
	// Optimizers that are in no field are stored too.
	_, nested := newNoisy(t)
	_, err = nested.TrainOnBatch(t.Context(), data.Arrays(grid(4, 5), nil))
	require.NoError(t, err)
	require.NoError(t, nested.SaveWeights(path))
	require.NoError(t, nested.LoadWeights(path, keras.Report(&report)))
	require.Empty(t, report.Unused)
	found := false
	for _, match := range report.Matched {
		found = found || match.Tensor == "optimizer_2/vars/9"
	}
	require.True(t, found, "%v", report.Matched)
	// Both continue alike.
	h1, _ := f.train(t, c, m)
	h2, _ := f.train(t, c, again)
	require.Equal(t, h1.Logs, h2.Logs)
}

// Fit ends between steps, and the model keeps what it has learned.
func TestStepIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, m := newNoisy(t)
	stop := &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
		if batch == 1 {
			cancel()
		}
		return nil
	}}
	_, err := m.Fit(ctx, data.Arrays(grid(20, 5), nil), keras.BatchSize(4), keras.Callbacks(stop))
	require.ErrorIs(t, err, context.Canceled)
	o, err := m.OptimizerArrays()
	require.NoError(t, err)
	require.Equal(t, 2.0, o[0].Element(0))
}

// Callbacks watch the logs of a step, and one optimizer of its own is the model's.
func TestStepWithCallbacks(t *testing.T) {
	f := loadSteps(t)
	m, all := stepModel(t, f.find(t, "vae"))
	half := &callbacks.LearningRateScheduler{Schedule: func(_ int, rate float64) float64 { return rate / 2 }}
	early := &callbacks.EarlyStopping{Monitor: "val_reconstruction", Mode: "min", MinDelta: 100, Patience: 2}
	h, err := m.Fit(t.Context(), f.data(20), keras.Epochs(10), keras.ValidationData(f.data(5)), keras.Callbacks(half, early))
	require.NoError(t, err)
	require.Len(t, h.Epoch, 3)
	require.Equal(t, []float64{0.005, 0.0025, 0.00125}, h.Logs["learning_rate"])
	rate, err := all[0].Rate()
	require.NoError(t, err)
	require.Equal(t, 0.00125, rate)
	require.Equal(t, "min", m.Direction("val_loss"))
	require.Equal(t, "min", m.Direction("mae"))
	require.Empty(t, m.Direction("reconstruction"))
}

// Without a TestStep, Evaluate measures what Compile says, or reports what is missing.
func TestEvaluateWithoutTestStep(t *testing.T) {
	m := sequential(t, nil, &layers.Dense{Units: 2})
	compile(t, m, keras.CompileConfig{Loss: "mse", TrainStep: plain})
	scores, err := m.Evaluate(t.Context(), data.Arrays(grid(5, 3), grid(5, 2)))
	require.NoError(t, err)
	require.Positive(t, scores["loss"])
	compile(t, m, keras.CompileConfig{TrainStep: plain})
	_, err = m.Evaluate(t.Context(), data.Arrays(grid(5, 3), grid(5, 2)))
	require.ErrorContains(t, err, "no TestStep, and Compile was given no loss")

	_, n := newNoisy(t)
	_, err = n.Evaluate(t.Context(), data.Arrays(grid(5, 5), nil))
	require.ErrorContains(t, err, "noisy has no method Call")
	_, err = n.Predict(t.Context(), data.Arrays(grid(5, 5), nil))
	require.ErrorContains(t, err, "noisy has no method Call")
}

// A step that reports other names for a batch of another shape is an error.
func TestStepLogsChange(t *testing.T) {
	m := sequential(t, nil, &layers.Dense{Units: 2})
	compile(t, m, keras.CompileConfig{Loss: "mse", TrainStep: func(s *keras.Step) keras.StepLogs {
		plain(s)
		return keras.StepLogs{fmt.Sprint("loss of ", s.LocalBatchSize()): s.Mean(s.X[0])}
	}})
	_, err := m.Fit(t.Context(), data.Arrays(grid(6, 3), grid(6, 2)), keras.BatchSize(4))
	require.ErrorContains(t, err, `TrainStep returned the logs ["loss of 4"] and, for a batch of another shape, ["loss of 2"]`)
}

// Step.Mean is the mean over the global batch, whatever the replicas have of it.
func TestStepMean(t *testing.T) {
	x := grid(5, 3)
	want := 0.0
	for _, row := range x {
		for _, v := range row {
			want += float64(v) / 15
		}
	}
	for _, devices := range [][]string{{"cpu:0"}, {"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6"}} {
		m := sequential(t, []keras.Option{distribute.Scope(mirrored(t, devices...))}, &layers.Flatten{})
		compile(t, m, keras.CompileConfig{TestStep: func(s *keras.Step) keras.StepLogs {
			twice := ops.Concatenate(0, s.X[0], s.X[0])
			return keras.StepLogs{"mean": s.Mean(s.X[0]), "twice": s.Mean(twice)}
		}})
		scores, err := m.Evaluate(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		for _, name := range []string{"mean", "twice"} {
			require.False(t, !(math.Abs(scores[name]-want) <= 1e-6), "%d replicas, %s: %v, expected %v", len(devices), name, scores[name], want)
		}
	}
}

// SwapEMA exchanges the weights of the optimizers that keep averages, and leaves those of the others.
func TestStepSwapEMA(t *testing.T) {
	n, m := newNoisy(t)
	require.ErrorContains(t, m.SwapEMA(), "keeps no moving averages")
	for range 2 {
		_, err := m.TrainOnBatch(t.Context(), data.Arrays(grid(6, 5), nil))
		require.NoError(t, err)
	}
	both := func() [2]any {
		g, err := n.Generator.GetWeights()
		require.NoError(t, err)
		d, err := n.Discriminator.GetWeights()
		require.NoError(t, err)
		return [2]any{g, d}
	}
	before := both()
	require.NoError(t, m.SwapEMA())
	swapped := both()
	require.NotEqual(t, before[0], swapped[0])
	require.Equal(t, before[1], swapped[1])
	require.NoError(t, m.SwapEMA())
	require.Equal(t, before, both())
}
