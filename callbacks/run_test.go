package callbacks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// mlp is a model with all that a run can depend on: momentum, shuffling, dropout, moving statistics.
func mlp(t *testing.T, optimizer optimizers.Optimizer) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 8, Activation: "tanh"},
		&layers.BatchNormalization{},
		&layers.Dropout{Rate: 0.25},
		&layers.Dense{Units: 2},
	}, keras.InputShape(3), keras.Seed(5))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: "mse", Metrics: []string{"mae"}}))
	return m
}

func examples(n int) data.Dataset {
	x, y := make([][3]float64, n), make([][2]float64, n)
	for i := range x {
		a := float64(i) / float64(n)
		x[i] = [3]float64{a, math.Sin(7 * a), math.Cos(5 * a)}
		y[i] = [2]float64{math.Sin(3 * a), a * a}
	}
	return data.Arrays(x, y)
}

func weights(t *testing.T, m *keras.Model) [][]float64 {
	t.Helper()
	arrays, err := m.GetWeights()
	require.NoError(t, err)
	out := make([][]float64, len(arrays))
	for i, a := range arrays {
		out[i] = a.Float64s()
	}
	return out
}

// A hook that fails ends the run with its error; all callbacks still see the end, and are told why.
func TestErrorsOfHooksEndTheRun(t *testing.T) {
	boom := errors.New("boom")
	hooks := map[string]*callbacks.LambdaCallback{
		"train begin":       {TrainBegin: func() error { return boom }},
		"train end":         {TrainEnd: func(*callbacks.Logs) error { return boom }},
		"epoch begin":       {EpochBegin: func(int) error { return boom }},
		"epoch end":         {EpochEnd: func(int, *callbacks.Logs) error { return boom }},
		"train batch begin": {TrainBatchBegin: func(int) error { return boom }},
		"train batch end":   {TrainBatchEnd: func(int, *callbacks.Logs) error { return boom }},
		"test begin":        {TestBegin: func() error { return boom }},
		"test end":          {TestEnd: func(*callbacks.Logs) error { return boom }},
		"test batch begin":  {TestBatchBegin: func(int) error { return boom }},
		"test batch end":    {TestBatchEnd: func(int, *callbacks.Logs) error { return boom }},
	}
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			m := zeroModel(t, 1)
			ends, testEnds := 0, 0
			var reason error
			watcher := &callbacks.LambdaCallback{}
			watcher.TrainEnd = func(*callbacks.Logs) error { ends++; reason = watcher.Params().Err; return nil }
			watcher.TestEnd = func(*callbacks.Logs) error { testEnds++; return nil }
			history, err := m.Fit(t.Context(), zeros(8), keras.ValidationData(zeros(4)), keras.Callbacks(hook, watcher))
			require.ErrorIs(t, err, boom)
			require.NotNil(t, history)
			require.Equal(t, 1, ends)
			if name != "train end" { // then nothing had gone wrong before
				require.ErrorIs(t, reason, boom)
			}
			if strings.HasPrefix(name, "test") {
				require.Equal(t, 1, testEnds)
			}
			_, err = m.Fit(t.Context(), zeros(8))
			require.NoError(t, err, "the model can be used again")
		})
	}
	for name, hook := range map[string]*callbacks.LambdaCallback{
		"predict begin":       {PredictBegin: func() error { return boom }},
		"predict end":         {PredictEnd: func() error { return boom }},
		"predict batch begin": {PredictBatchBegin: func(int) error { return boom }},
		"predict batch end":   {PredictBatchEnd: func(int) error { return boom }},
	} {
		t.Run(name, func(t *testing.T) {
			ends := 0
			watcher := &callbacks.LambdaCallback{PredictEnd: func() error { ends++; return nil }}
			_, err := zeroModel(t, 1).Predict(t.Context(), data.Arrays(make([][1]float64, 4), nil), keras.Callbacks(hook, watcher))
			require.ErrorIs(t, err, boom)
			require.Equal(t, 1, ends)
		})
	}
}

// The context's end is a failure too.
func TestContextEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var reason error
	watcher := &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
		if batch == 2 {
			cancel()
		}
		return nil
	}}
	watcher.TrainEnd = func(*callbacks.Logs) error { reason = watcher.Params().Err; return nil }
	m := mlp(t, &optimizers.SGD{})
	best := &callbacks.EarlyStopping{Monitor: "loss", RestoreBestWeights: true}
	_, err := m.Fit(ctx, examples(64), keras.BatchSize(8), keras.Callbacks(watcher, best))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, reason, context.Canceled)
}

// Early stopping restores the weights of the best epoch, and the model stays usable.
func TestEarlyStoppingInFit(t *testing.T) {
	m := mlp(t, &optimizers.SGD{LearningRate: 0.1})
	// The monitored value is written into the logs by a callback, so that the best epoch is known: number 2.
	script := []float64{3, 2, 1, 5, 4, 3, 2, 1}
	var best [][]float64
	writer := &callbacks.LambdaCallback{EpochEnd: func(epoch int, logs *callbacks.Logs) error {
		logs.Append("scripted", script[epoch])
		if epoch == 2 {
			best = weights(t, m)
		}
		return nil
	}}
	stop := &callbacks.EarlyStopping{Monitor: "scripted", Mode: "min", Patience: 2, RestoreBestWeights: true}
	history, err := m.Fit(t.Context(), examples(40), keras.Epochs(8), keras.BatchSize(16), keras.Callbacks(writer, stop))
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3, 4}, history.Epoch)
	require.Equal(t, script[:5], history.Logs["scripted"])
	require.Equal(t, 4, stop.StoppedEpoch())
	require.Equal(t, 2, stop.BestEpoch())
	require.Equal(t, best, weights(t, m))

	before, err := m.Evaluate(t.Context(), examples(40))
	require.NoError(t, err)
	history, err = m.Fit(t.Context(), examples(40), keras.Epochs(3))
	require.NoError(t, err)
	require.Len(t, history.Epoch, 3, "the stop of the run before is forgotten")
	after, err := m.Evaluate(t.Context(), examples(40))
	require.NoError(t, err)
	require.NotEqual(t, before["loss"], after["loss"])
	_, err = m.Predict(t.Context(), examples(5))
	require.NoError(t, err)
}

func TestReduceLROnPlateauInFit(t *testing.T) {
	m := zeroModel(t, 1)
	require.NoError(t, m.SetLearningRate(0.5))
	csv := filepath.Join(t.TempDir(), "log.csv")
	history, err := m.Fit(t.Context(), zeros(8), keras.Epochs(4), keras.Callbacks(
		&callbacks.ReduceLROnPlateau{Monitor: "loss", Patience: 1, Factor: 0.5, MinLR: 0.125}, &callbacks.CSVLogger{Filename: csv}))
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 0.5, 0.25, 0.125}, history.Logs["learning_rate"])
	text, err := os.ReadFile(csv)
	require.NoError(t, err)
	require.Equal(t, "epoch,learning_rate,loss,mae,val_learning_rate,val_loss,val_mae\r\n0,0.5,0.0,0.0,NA,NA,NA\r\n1,0.5,0.0,0.0,NA,NA,NA\r\n"+
		"2,0.25,0.0,0.0,NA,NA,NA\r\n3,0.125,0.0,0.0,NA,NA,NA\r\n", string(text))
}

// A schedule drives the rate: the callbacks that set it say so.
func TestScheduleAndRateCallbacksExcludeEachOther(t *testing.T) {
	for _, cb := range []callbacks.Callback{
		&callbacks.ReduceLROnPlateau{Monitor: "loss", Patience: 1, MinDelta: new(1e3)},
		&callbacks.LearningRateScheduler{Schedule: func(int, float64) float64 { return 1 }},
	} {
		m := mlp(t, &optimizers.SGD{LearningRate: &schedules.ExponentialDecay{InitialLearningRate: 0.1, DecaySteps: 10, DecayRate: 0.5}})
		_, err := m.Fit(t.Context(), examples(8), keras.Epochs(4), keras.Callbacks(cb))
		require.ErrorContains(t, err, "a schedule")
	}
}

func TestTerminateOnNaNInFit(t *testing.T) {
	bad := data.Arrays([][1]float64{{1}, {1}, {math.NaN()}, {1}}, [][1]float64{{0}, {0}, {0}, {0}})
	var out bytes.Buffer
	m := zeroModel(t, 1)
	history, err := m.Fit(t.Context(), bad, keras.Epochs(5), keras.BatchSize(1), keras.Shuffle(false), keras.ProgressOutput(&out), keras.Callbacks(&callbacks.TerminateOnNaN{}))
	require.NoError(t, err)
	require.Equal(t, []int{0}, history.Epoch)
	told, end, _ := strings.Cut(out.String(), "\n")
	require.Contains(t, told, `batch 2: input "input_layer" has a NaN`, "Fit tells of it once")
	require.Equal(t, "Batch 2: Invalid loss, terminating training\n", end)
	m = zeroModel(t, 1)
	_, err = m.Fit(t.Context(), bad, keras.BatchSize(1), keras.Shuffle(false), keras.Callbacks(&callbacks.TerminateOnNaN{RaiseError: true}))
	require.ErrorContains(t, err, "NaN or Inf loss encountered at batch 2")
}

// Files of a run can be loaded and predict what the model did at that moment.
func TestModelCheckpointInFit(t *testing.T) {
	dir := t.TempDir()
	m := mlp(t, &optimizers.Adam{LearningRate: 0.01})
	var seen [][][]float64
	watcher := &callbacks.LambdaCallback{EpochEnd: func(int, *callbacks.Logs) error { seen = append(seen, weights(t, m)); return nil }}
	_, err := m.Fit(t.Context(), examples(40), keras.Epochs(3), keras.Callbacks(watcher,
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "a", "b", "{epoch:02d}.weights.npz"), SaveWeightsOnly: true},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "{epoch}-{batch}.weights.npz"), SaveWeightsOnly: true, SaveFreq: 3}))
	require.NoError(t, err)
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, name)
		}
		return err
	}))
	// Two batches in an epoch: batches 3 and 6 are the first of epoch 2 and the second of epoch 3.
	require.Equal(t, []string{"2-1.weights.npz", "3-2.weights.npz", "a/b/01.weights.npz", "a/b/02.weights.npz", "a/b/03.weights.npz"}, files)
	again := mlp(t, &optimizers.Adam{LearningRate: 0.01})
	for epoch, want := range seen {
		require.NoError(t, again.LoadWeights(filepath.Join(dir, "a", "b", fmt.Sprintf("%02d.weights.npz", epoch+1))))
		require.Equal(t, want, weights(t, again))
	}
	_, err = m.Fit(t.Context(), examples(8), keras.Callbacks(&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "x.pickle"), SaveWeightsOnly: true}))
	require.ErrorContains(t, err, ".weights.h5")
	_, err = m.Fit(t.Context(), examples(8), keras.Callbacks(&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "x.h5")}))
	require.ErrorContains(t, err, ".keras")
}

// Whole models and weights in Keras's own form: a model that was loaded goes on as the one that was saved.
func TestModelCheckpointOfKerasFiles(t *testing.T) {
	dir := t.TempDir()
	m := mlp(t, &optimizers.Adam{LearningRate: 0.01})
	fit := func(m *keras.Model, list ...callbacks.Callback) {
		_, err := m.Fit(t.Context(), examples(40), keras.Shuffle(false), keras.Epochs(2), keras.ValidationData(examples(20)), keras.Callbacks(list...))
		require.NoError(t, err)
	}
	fit(m,
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "{epoch}.keras")},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "best-{val_loss:.1f}.keras"), SaveBestOnly: true, InitialValueThreshold: new(-1.0)},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "{epoch}.weights.h5"), SaveWeightsOnly: true},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "{batch}.weights.json"), SaveWeightsOnly: true, SaveFreq: 4})
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	require.Equal(t, []string{"1.keras", "1.weights.h5", "2.keras", "2.weights.h5", "2.weights.json", "2_00000.weights.h5"}, names)
	again, err := keras.LoadModel(filepath.Join(dir, "2.keras"), keras.Seed(5)) // random layers draw from it
	require.NoError(t, err)
	require.Equal(t, weights(t, m), weights(t, again))
	fit(m)
	fit(again)
	require.Equal(t, weights(t, m), weights(t, again), "the optimizer's state is in the file")
	require.NoError(t, again.LoadWeights(filepath.Join(dir, "2.weights.h5")))
	fit(again)
	require.Equal(t, weights(t, m), weights(t, again))
}

// With the averages in the model, Evaluate gives what it gives for a model that has them as weights.
func TestSwapEMAWeightsInFit(t *testing.T) {
	train := func(epochs int, list ...callbacks.Callback) (*keras.Model, *keras.History) {
		m := mlp(t, &optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{UseEMA: true, EMAMomentum: new(0.9)}})
		history, err := m.Fit(t.Context(), examples(40), keras.Epochs(epochs), keras.ValidationData(examples(20)), keras.Callbacks(list...))
		require.NoError(t, err)
		return m, history
	}
	score := func(m *keras.Model, list ...callbacks.Callback) float64 {
		scores, err := m.Evaluate(t.Context(), examples(20), keras.Callbacks(list...))
		require.NoError(t, err)
		return scores["loss"]
	}
	for epochs := 1; epochs <= 3; epochs++ {
		plain, history := train(epochs) // ends with the averages as weights
		want := score(plain)
		for _, between := range []bool{false, true} {
			m, swapped := train(epochs, &callbacks.SwapEMAWeights{SwapOnEpoch: between})
			got, _ := swapped.Last("val_loss")
			require.Equal(t, want, got, "validation of epoch %d uses the averages", epochs)
			require.Equal(t, weights(t, plain), weights(t, m), "the run ends with the averages")
			require.Equal(t, history.Logs["loss"], swapped.Logs["loss"], "training goes on with the weights")
		}
	}
	// A checkpoint after the callback has the averages; a run that stops early ends with them.
	stop := &callbacks.LambdaCallback{}
	stop.EpochEnd = func(epoch int, _ *callbacks.Logs) error {
		if epoch == 1 {
			stop.Model().Stop()
		}
		return nil
	}
	path := filepath.Join(t.TempDir(), "{epoch}.weights.npz")
	m, _ := train(5, &callbacks.SwapEMAWeights{SwapOnEpoch: true}, &callbacks.ModelCheckpoint{FilePath: path, SaveWeightsOnly: true}, stop)
	two, _ := train(2)
	require.Equal(t, weights(t, two), weights(t, m))
	require.NoError(t, m.LoadWeights(strings.ReplaceAll(path, "{epoch}", "1")))
	one, _ := train(1)
	require.Equal(t, weights(t, one), weights(t, m))
	// Evaluate and Predict put the weights back.
	others, err := two.GetWeights()
	require.NoError(t, err)
	require.NoError(t, one.SetWeights(others)) // now the weights are not the averages
	before := weights(t, one)
	require.NotEqual(t, score(one), score(one, &callbacks.SwapEMAWeights{}))
	_, err = one.Predict(t.Context(), examples(5), keras.Callbacks(&callbacks.SwapEMAWeights{}))
	require.NoError(t, err)
	require.Equal(t, before, weights(t, one))
	_, err = zeroModel(t, 1).Fit(t.Context(), zeros(4), keras.ValidationData(zeros(4)), keras.Callbacks(&callbacks.SwapEMAWeights{}))
	require.ErrorContains(t, err, "UseEMA")
	// An evaluation that fails leaves the weights in the model.
	_, err = one.Evaluate(t.Context(), examples(20), keras.Callbacks(&callbacks.SwapEMAWeights{}, &callbacks.LambdaCallback{TestBatchEnd: func(int, *callbacks.Logs) error { return errors.New("boom") }}))
	require.ErrorContains(t, err, "boom")
	require.Equal(t, before, weights(t, one))
}
