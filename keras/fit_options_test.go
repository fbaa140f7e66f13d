package keras_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// witness is a model whose loss is the mean of its inputs and which does not learn, so its logs show which examples it
// saw. With a batch size of 1 it records the examples of each epoch, and the calls of the hooks.
type witness struct {
	callbacks.Base
	*keras.Model
	epochs, validation [][]float64
	validated          []int // epochs that were validated
	hooks              []string
	steps              []int
	sum                float64
	stopAt             int
}

func newWitness(t testing.TB, perExecution int) *witness {
	t.Helper()
	m := sequential(t, []keras.Option{keras.DTypePolicy("float64"), keras.InputShape(1)}, &layers.Dense{Units: 1, NoBias: true, KernelInitializer: "ones"})
	compile(t, m, keras.CompileConfig{
		Optimizer: &optimizers.SGD{LearningRate: 0.0}, StepsPerExecution: perExecution,
		Loss: func(_, yPred *ops.Tensor) *ops.Tensor { return ops.Squeeze(yPred, -1) },
	})
	return &witness{Model: m, stopAt: -1}
}

func (w *witness) SetModel(m callbacks.Model) {}

func (w *witness) hook(format string, args ...any) error {
	w.hooks = append(w.hooks, fmt.Sprintf(format, args...))
	return nil
}

// next returns the latest value in a running mean of n values.
func (w *witness) next(logs *callbacks.Logs, n int) float64 {
	mean, _ := logs.Get("loss")
	x := mean*float64(n) - w.sum
	w.sum += x
	return x
}

func (w *witness) OnEpochBegin(epoch int) error {
	w.epochs, w.sum = append(w.epochs, nil), 0
	w.steps = append(w.steps, w.Params().Steps)
	return w.hook("epoch %d", epoch)
}

func (w *witness) OnTrainBatchBegin(batch int) error { return w.hook("begin %d", batch) }

func (w *witness) OnTrainBatchEnd(batch int, logs *callbacks.Logs) error {
	last := &w.epochs[len(w.epochs)-1]
	*last = append(*last, float64(int(w.next(logs, len(*last)+1)+0.5)))
	if batch == w.stopAt {
		w.Stop()
	}
	return w.hook("end %d", batch)
}

func (w *witness) OnTestBegin() error {
	w.validation, w.sum = append(w.validation, nil), 0
	w.validated = append(w.validated, len(w.epochs))
	return nil
}

func (w *witness) OnTestBatchEnd(_ int, logs *callbacks.Logs) error {
	last := &w.validation[len(w.validation)-1]
	*last = append(*last, float64(int(w.next(logs, len(*last)+1)+0.5)))
	return nil
}

// numbered returns n examples, the numbers from 0 (or from the given one).
func numbered(n int, from ...int) *data.ArraySource {
	x, y := make([][1]float64, n), make([]float64, n)
	for i := range x {
		x[i][0] = float64(i)
		if from != nil {
			x[i][0] += float64(from[0])
		}
	}
	return data.Arrays(x, y)
}

// see trains with batches of one example and records what the model saw.
func (w *witness) see(t testing.TB, ds data.Dataset, options ...keras.FitOption) *keras.History {
	t.Helper()
	if _, ok := ds.(*data.ArraySource); ok {
		options = append([]keras.FitOption{keras.BatchSize(1)}, options...)
	}
	w.epochs, w.validation, w.validated, w.hooks, w.steps = nil, nil, nil, nil, nil
	h, err := w.Fit(context.Background(), ds, append(options, keras.Callbacks(w))...)
	require.NoError(t, err)
	return h
}

func sequence(from, until int) []float64 {
	var out []float64
	for i := from; i < until; i++ {
		out = append(out, float64(i))
	}
	return out
}

func TestShuffle(t *testing.T) {
	w := newWitness(t, 0)
	w.see(t, numbered(9), keras.Shuffle(false), keras.Epochs(2))
	require.Equal(t, [][]float64{sequence(0, 9), sequence(0, 9)}, w.epochs)

	w.see(t, numbered(30), keras.Epochs(3))
	first := w.epochs
	for i, seen := range first {
		require.NotEqual(t, sequence(0, 30), seen, "in order")
		require.ElementsMatch(t, sequence(0, 30), seen, "every example once")
		require.NotEqual(t, seen, first[(i+1)%3], "another order in each epoch")
	}
	w.see(t, numbered(30), keras.Epochs(3))
	require.Equal(t, first, w.epochs, "the same seed gives the same orders")
	w.see(t, numbered(30), keras.InitialEpoch(2), keras.Epochs(3))
	require.Equal(t, first[2:], w.epochs, "a run that goes on shuffles as the one it continues")
	w.see(t, numbered(30), keras.Epochs(3), keras.ShuffleSeed(7))
	require.NotEqual(t, first, w.epochs)

	w.see(t, numbered(8).Loader(1, false, 0), keras.Epochs(2))
	require.Equal(t, [][]float64{sequence(0, 8), sequence(0, 8)}, w.epochs, "datasets are not shuffled")
}

// Batches of four, told apart by their sums: inside batches the sums stay.
func TestShuffleInsideBatches(t *testing.T) {
	w := newWitness(t, 0)
	_, err := w.Fit(context.Background(), numbered(12), keras.BatchSize(4), keras.ShuffleInsideBatches(), keras.Callbacks(w))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{2, 6, 10}}, w.epochs, "the means of 0-3, 4-7 and 8-11, rounded half up")
	_, err = w.Fit(context.Background(), numbered(12), keras.BatchSize(4), keras.ShuffleSeed(3), keras.Callbacks(w))
	require.NoError(t, err)
	require.NotEqual(t, w.epochs[0], w.epochs[1])
}

func TestValidationSplit(t *testing.T) {
	w := newWitness(t, 0)
	h := w.see(t, numbered(10), keras.ValidationSplit(0.25), keras.Epochs(2))
	for i := range 2 {
		require.ElementsMatch(t, sequence(0, 7), w.epochs[i], "the head, floor(10·0.75) examples, shuffled")
		require.Equal(t, sequence(7, 10), w.validation[i], "the tail, in order")
	}
	require.InDeltaSlice(t, []float64{8, 8}, h.Logs["val_loss"], 1e-12)
	require.InDeltaSlice(t, []float64{3, 3}, h.Logs["loss"], 1e-12)

	w.see(t, numbered(10), keras.ValidationSplit(0.25), keras.ValidationData(numbered(2, 50)))
	require.ElementsMatch(t, sequence(0, 10), w.epochs[0], "ValidationData takes precedence")
	require.Equal(t, [][]float64{{50, 51}}, w.validation)
	w.see(t, numbered(4), keras.ValidationSplit(0))
	require.Empty(t, w.validation)
	w.see(t, numbered(4), keras.ValidationSplit(0.25), keras.ValidationData(nil))
	require.Equal(t, [][]float64{{3}}, w.validation, "nil data are none")
}

func TestValidationOptions(t *testing.T) {
	w := newWitness(t, 0)
	check := func(want []int, options ...keras.FitOption) {
		t.Helper()
		h := w.see(t, numbered(2), append(options, keras.Epochs(5), keras.ValidationData(numbered(3)))...)
		require.Len(t, h.Logs["val_loss"], len(want))
		require.Len(t, h.Logs["loss"], 5)
		require.Equal(t, want, w.validated, "epochs, from 1")
	}
	check([]int{2, 4}, keras.ValidationFrequency(2))
	check([]int{5}, keras.ValidationFrequency(5))
	check(nil, keras.ValidationFrequency(6))
	check([]int{1, 4}, keras.ValidationEpochs(1, 4, 9))
	check([]int{1, 2, 3, 4, 5})

	w.see(t, numbered(2), keras.Epochs(2), keras.ValidationData(numbered(9)), keras.ValidationSteps(4))
	require.Equal(t, [][]float64{{0, 1, 2, 3}, {0, 1, 2, 3}}, w.validation, "always from the beginning")
	w.see(t, numbered(2), keras.ValidationData(numbered(8)), keras.ValidationBatchSize(4))
	require.Equal(t, [][]float64{{2, 6}}, w.validation, "means of 0-3 and 4-7, rounded")
	h := w.see(t, numbered(2), keras.ValidationData(numbered(10).Loader(4, false, 0)))
	require.InDelta(t, 4.5, h.Logs["val_loss"][0], 1e-12, "the last, shorter batch counts by its examples")
	h = w.see(t, numbered(2), keras.ValidationData(data.FromDataset(numbered(10).Loader(4, false, 0)).Repeat(data.Infinite)), keras.ValidationSteps(2))
	require.InDelta(t, 3.5, h.Logs["val_loss"][0], 1e-12)
}

// unsized hides how many batches a dataset has.
type unsized struct{ data.Dataset }

func TestStepsPerEpoch(t *testing.T) {
	epochs := func(n int, steps ...int) (out [][]float64) {
		at := 0
		for _, s := range steps {
			until := min(at+s, n)
			out = append(out, sequence(at, until))
			if at = until; at == n {
				at = 0
			}
		}
		return out
	}
	arrays := func(n int) data.Dataset { return numbered(n) }
	sized := func(n int) data.Dataset { return numbered(n).Loader(1, false, 0) }
	unknown := func(n int) data.Dataset { return unsized{numbered(n).Loader(1, false, 0)} }
	for name, source := range map[string]func(n int) data.Dataset{"arrays": arrays, "sized": sized, "unknown": unknown} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t, 0)
			w.see(t, source(8), keras.Shuffle(false), keras.StepsPerEpoch(3), keras.Epochs(5))
			require.Equal(t, epochs(8, 3, 3, 3, 3, 3), w.epochs, "goes on where the last epoch ended; the third runs dry, the fourth begins anew")
			w.see(t, source(8), keras.Shuffle(false), keras.StepsPerEpoch(4), keras.Epochs(4))
			require.Equal(t, epochs(8, 4, 4, 4, 4), w.epochs, "ends with the data")
			var out bytes.Buffer
			w.see(t, source(3), keras.Shuffle(false), keras.StepsPerEpoch(5), keras.Epochs(2), keras.Verbose(2), keras.ProgressOutput(&out))
			require.Equal(t, epochs(3, 5, 5), w.epochs, "more steps than data")
			require.Contains(t, out.String(), "the data ended after 3 of the 5 batches")
			require.Equal(t, []int{5, 5}, w.steps)
		})
	}
	w := newWitness(t, 0)
	w.see(t, data.FromDataset(numbered(3).Loader(1, false, 0)).Repeat(data.Infinite), keras.StepsPerEpoch(4), keras.Epochs(3))
	require.Equal(t, [][]float64{{0, 1, 2, 0}, {1, 2, 0, 1}, {2, 0, 1, 2}}, w.epochs)

	// Without a batch size, n examples in s steps make batches of ceil(n/s).
	_, err := w.Fit(context.Background(), numbered(10), keras.Shuffle(false), keras.StepsPerEpoch(4), keras.Callbacks(w))
	require.NoError(t, err)
	require.Equal(t, []float64{1, 4, 7}, w.epochs[3][:3], "batches of 3")
	require.Len(t, w.epochs[3], 4)
}

// The number of steps of a dataset that does not report it is known after the first epoch.
func TestUnknownLength(t *testing.T) {
	w := newWitness(t, 0)
	w.see(t, unsized{numbered(4).Loader(1, false, 0)}, keras.Epochs(3))
	require.Equal(t, [][]float64{sequence(0, 4), sequence(0, 4), sequence(0, 4)}, w.epochs)
	require.Equal(t, []int{-1, 4, 4}, w.steps)
}

func TestStepsPerExecution(t *testing.T) {
	w := newWitness(t, 3)
	h, err := w.Fit(context.Background(), numbered(7), keras.BatchSize(1), keras.Shuffle(false), keras.Callbacks(w))
	require.NoError(t, err)
	require.Equal(t, []string{"epoch 0", "begin 0", "end 2", "begin 3", "end 5", "begin 6", "end 6"}, w.hooks, "the first and the last batch of each round")
	require.InDelta(t, 3, h.Logs["loss"][0], 1e-12)

	// The weights do not depend on it.
	train := func(perExecution int) any {
		m := classifier(t, keras.InputShape(4))
		compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, StepsPerExecution: perExecution})
		require.NoError(t, fit(m, data.Arrays(grid(20, 4), cycle(20, 3)), keras.BatchSize(3), keras.Epochs(2)))
		return weightsOf(t, m)
	}
	require.Equal(t, train(1), train(4))
}

func TestEpochs(t *testing.T) {
	w := newWitness(t, 0)
	h := w.see(t, numbered(1), keras.InitialEpoch(2), keras.Epochs(5))
	require.Equal(t, []int{2, 3, 4}, h.Epoch, "Epochs is the index after the last, not a count")
	require.Equal(t, []string{"epoch 2", "begin 0", "end 0", "epoch 3", "begin 0", "end 0", "epoch 4", "begin 0", "end 0"}, w.hooks)
	h = w.see(t, numbered(1), keras.InitialEpoch(5), keras.Epochs(5))
	require.Empty(t, h.Epoch)
	h = w.see(t, numbered(1), keras.Epochs(0))
	require.Empty(t, h.Epoch)
	require.Empty(t, w.hooks)
}

func TestStop(t *testing.T) {
	w := newWitness(t, 0)
	w.stopAt = 3
	h := w.see(t, numbered(10), keras.Shuffle(false), keras.Epochs(5), keras.ValidationSplit(0.2))
	require.Equal(t, [][]float64{sequence(0, 4)}, w.epochs)
	require.Equal(t, []int{0}, h.Epoch, "the epoch that was cut short is recorded, with its validation, as in Keras")
	require.Len(t, w.validation, 1)
	w.stopAt = -1
	w.see(t, numbered(2), keras.Epochs(2))
	require.Len(t, w.epochs, 2, "the next run is not stopped")
}

// Hooks that fail end the run with their error; the end hooks of all callbacks are still called.
func TestCallbackErrors(t *testing.T) {
	boom := errors.New("no space left on disk")
	fail := func() error { return boom }
	for name, cb := range map[string]*callbacks.LambdaCallback{
		"train begin":       {TrainBegin: fail},
		"train end":         {TrainEnd: func(*callbacks.Logs) error { return boom }},
		"epoch begin":       {EpochBegin: func(int) error { return boom }},
		"epoch end":         {EpochEnd: func(int, *callbacks.Logs) error { return boom }},
		"batch begin":       {TrainBatchBegin: func(int) error { return boom }},
		"batch end":         {TrainBatchEnd: func(int, *callbacks.Logs) error { return boom }},
		"validation begin":  {TestBegin: fail},
		"validation end":    {TestEnd: func(*callbacks.Logs) error { return boom }},
		"validation batch":  {TestBatchEnd: func(int, *callbacks.Logs) error { return boom }},
		"validation batch2": {TestBatchBegin: func(int) error { return boom }},
	} {
		ended := 0
		other := &callbacks.LambdaCallback{TrainEnd: func(*callbacks.Logs) error { ended++; return nil }}
		w := newWitness(t, 0)
		h, err := w.Fit(context.Background(), numbered(4), keras.ValidationSplit(0.25), keras.Callbacks(cb, other))
		require.ErrorIs(t, err, boom, name)
		require.NotNil(t, h, name)
		require.Equal(t, 1, ended, name)
	}
	for name, cb := range map[string]*callbacks.LambdaCallback{
		"begin": {PredictBegin: fail}, "end": {PredictEnd: fail},
		"batch begin": {PredictBatchBegin: func(int) error { return boom }}, "batch end": {PredictBatchEnd: func(int) error { return boom }},
	} {
		require.ErrorIs(t, predict(newWitness(t, 0).Model, numbered(4), keras.Callbacks(cb)), boom, name)
	}
}

// Reading logs of a batch after the next batch is an error, and does not give other numbers.
func TestLogsReadLate(t *testing.T) {
	var kept []*callbacks.Logs
	w := newWitness(t, 0)
	_, err := w.Fit(context.Background(), numbered(3), keras.BatchSize(1), keras.Callbacks(&callbacks.LambdaCallback{TrainBatchEnd: func(batch int, logs *callbacks.Logs) error {
		if batch == 1 {
			require.NoError(t, logs.Err())
		}
		kept = append(kept, logs)
		return nil
	}}))
	require.NoError(t, err)
	require.ErrorContains(t, kept[0].Err(), "inside the hook")
	_, ok := kept[0].Get("loss")
	require.False(t, ok)
	require.NoError(t, kept[1].Err())
	_, ok = kept[1].Get("loss")
	require.True(t, ok)
}

func TestVerbose(t *testing.T) {
	w := newWitness(t, 0)
	print := func(options ...keras.FitOption) string {
		var out bytes.Buffer
		_, err := w.Fit(context.Background(), numbered(4), append(options, keras.Epochs(2), keras.ProgressOutput(&out), keras.BatchSize(2))...)
		require.NoError(t, err)
		return out.String()
	}
	require.Empty(t, print())
	require.Empty(t, print(keras.Verbose(0)))
	lines := strings.Split(print(keras.Verbose(2)), "\n")
	require.Len(t, lines, 5)
	require.Equal(t, "Epoch 1/2", lines[0])
	require.Regexp(t, `^2/2 - \d+s - \d+(ms|us|s)/step - loss: 1\.5000$`, lines[1])
	require.Equal(t, "Epoch 2/2", lines[2])
	bar := print(keras.Verbose(1))
	require.Contains(t, bar, "━")
	require.Contains(t, bar, "loss: 1.5000")
	require.Contains(t, bar, "Epoch 2/2")
}

// weighted is a model with a loss of its own for each of three classes: labels 0, 1 and 2 against predictions 0.
func weighted(t testing.TB, c keras.CompileConfig) *keras.Model {
	t.Helper()
	m := sequential(t, []keras.Option{keras.DTypePolicy("float64"), keras.InputShape(1)}, &layers.Dense{Units: 1, KernelInitializer: "zeros"})
	c.Optimizer = &optimizers.SGD{LearningRate: 0.0}
	if c.Loss == nil {
		c.Loss = "mae"
	}
	compile(t, m, c)
	return m
}

func TestWeights(t *testing.T) {
	x := [][]float64{{1}, {1}, {1}, {1}}
	y := []float64{0, 1, 2, 2}
	history := func(ds data.Dataset, options ...keras.FitOption) map[string][]float64 {
		t.Helper()
		m := weighted(t, keras.CompileConfig{Metrics: []string{"mae"}, WeightedMetrics: []string{"mae"}})
		h, err := m.Fit(context.Background(), ds, append(options, keras.BatchSize(4))...)
		require.NoError(t, err)
		return h.Logs
	}
	near := func(want, got map[string][]float64) {
		t.Helper()
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name := range want {
			require.InDeltaSlice(t, want[name], got[name], 1e-12, name)
		}
	}
	w := []float64{1, 10, 100, 0}
	// Weights multiply the losses, whose sum is divided by the number of examples; a weighted metric is divided by the
	// sum of weights.
	want := map[string][]float64{"loss": {210.0 / 4}, "mae": {5.0 / 4}, "weighted_mae": {210.0 / 111}}
	near(want, history(data.Arrays(x, y, data.SampleWeight(w))))
	near(want, history(data.Arrays(x, [][]float64{{0}, {1}, {2}, {2}}, data.SampleWeight([][]float64{{1}, {10}, {100}, {0}}))))
	near(want, history(data.Arrays(x, y, data.SampleWeight([]int{1, 10, 100, 0}))))

	// Class weights are sample weights by label: classes that are not listed have 1.
	want = map[string][]float64{"loss": {210.0 / 4}, "mae": {5.0 / 4}, "weighted_mae": {210.0 / 111}}
	near(want, history(data.Arrays(x, y), keras.ClassWeight(map[int]float64{1: 10, 2: 50})))
	near(want, history(data.Arrays(x, []int{0, 1, 2, 2}), keras.ClassWeight(map[int]float64{0: 1, 1: 10, 2: 50})))
	near(want, history(data.Arrays(x, [][]float64{{0}, {1}, {2}, {2}}), keras.ClassWeight(map[int]float64{1: 10, 2: 50, 77: 3})))
	near(map[string][]float64{"loss": {5.0 / 4}, "mae": {5.0 / 4}, "weighted_mae": {5.0 / 4}}, history(data.Arrays(x, y), keras.ClassWeight(map[int]float64{})))

	// They affect only training.
	near(map[string][]float64{"loss": {11.0 / 3}, "mae": {1}, "weighted_mae": {11.0 / 9}, "val_loss": {2}, "val_mae": {2}, "val_weighted_mae": {2}},
		history(data.Arrays(x[:3], []float64{0, 1, 2}), keras.ClassWeight(map[int]float64{1: 5, 2: 3}), keras.ValidationData(data.Arrays(x[:1], []float64{2}))))
	// Validation data have their own weights; a split takes those of its part.
	near(map[string][]float64{"loss": {111.0 / 3}, "mae": {1}, "weighted_mae": {210.0 / 111}, "val_loss": {0}, "val_mae": {2}, "val_weighted_mae": {0}},
		func() map[string][]float64 {
			h := history(data.Arrays(x, y, data.SampleWeight(w)), keras.ValidationSplit(0.25))
			h["loss"] = []float64{h["loss"][0] - 33} // 210/3
			return h
		}())
}

// One-hot labels pick their class weight by the largest entry.
func TestClassWeightOneHot(t *testing.T) {
	m := sequential(t, []keras.Option{keras.DTypePolicy("float64"), keras.InputShape(1)}, &layers.Dense{Units: 3, KernelInitializer: "zeros"})
	compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.0}, Loss: "mae"})
	h, err := m.Fit(context.Background(), data.Arrays([][]float64{{1}, {1}}, [][]float64{{0, 3, 0}, {0, 0, 9}}), keras.ClassWeight(map[int]float64{1: 10}))
	require.NoError(t, err)
	require.InDelta(t, (10*1+1*3)/2.0, h.Logs["loss"][0], 1e-12)
}

// Weights in time: (n, steps) weighs every step, (n, 1) every example, and (n) for losses (n, steps) is an error as in
// Keras.
func TestTemporalWeights(t *testing.T) {
	x := [][][]float64{{{1}, {1}, {1}}, {{1}, {1}, {1}}}
	y := [][][]float64{{{1}, {2}, {3}}, {{4}, {5}, {6}}}
	loss := func(w any) (float64, error) {
		m := sequential(t, []keras.Option{keras.DTypePolicy("float64"), keras.InputShape(3, 1)}, &layers.Dense{Units: 1, KernelInitializer: "zeros"})
		compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.0}, Loss: "mae"})
		h, err := m.Fit(context.Background(), data.Arrays(x, y, data.SampleWeight(w)))
		if err != nil {
			return 0, err
		}
		return h.Logs["loss"][0], nil
	}
	got, err := loss([][]float64{{1, 0, 10}, {0, 0, 100}})
	require.NoError(t, err)
	require.InDelta(t, (1+30+600)/6.0, got, 1e-12)
	got, err = loss([][]float64{{1}, {10}})
	require.NoError(t, err)
	require.InDelta(t, (6+150)/6.0, got, 1e-12)
	_, err = loss([]float64{1, 10})
	require.ErrorContains(t, err, "sample weights have shape [2] and the losses of the examples [2 3]")
}

func TestOnBatch(t *testing.T) {
	ctx := context.Background()
	m := weighted(t, keras.CompileConfig{Metrics: []string{"mae"}})
	batch := func(values ...float64) *data.ArraySource {
		x := make([][1]float64, len(values))
		return data.Arrays(x, values)
	}
	for range 2 { // each call starts anew
		got, err := m.TestOnBatch(ctx, batch(1, 2, 3))
		require.NoError(t, err)
		require.Equal(t, map[string]float64{"loss": 2, "mae": 2}, got)
		got, err = m.TrainOnBatch(ctx, batch(5))
		require.NoError(t, err)
		require.Equal(t, map[string]float64{"loss": 5, "mae": 5}, got)
		got, err = m.TrainOnBatch(ctx, batch(1, 3), keras.ClassWeight(map[int]float64{1: 3}))
		require.NoError(t, err)
		require.Equal(t, map[string]float64{"loss": 3, "mae": 2}, got)
	}

	// A step on a batch is the step of Fit.
	x, y := data.Arrays(grid(6, 4), cycle(6, 3)), classifier(t, keras.InputShape(4))
	_, err := y.TrainOnBatch(ctx, x)
	require.NoError(t, err)
	z := classifier(t, keras.InputShape(4))
	require.NoError(t, fit(z, x, keras.Shuffle(false)))
	require.Equal(t, weightsOf(t, z), weightsOf(t, y))

	want, err := y.Predict(ctx, x)
	require.NoError(t, err)
	got, err := y.PredictOnBatch(ctx, x)
	require.NoError(t, err)
	require.Equal(t, []int{6, 3}, got.Shape())
	require.InDeltaSlice(t, want.Elements(), got.Elements(), 1e-6)
	_, err = y.PredictOnBatch(ctx, nil)
	require.ErrorContains(t, err, "PredictOnBatch: the data are nil")
}

func TestStepsOfEvaluateAndPredict(t *testing.T) {
	ctx := context.Background()
	w := newWitness(t, 0)
	scores, err := w.Evaluate(ctx, numbered(10), keras.BatchSize(3))
	require.NoError(t, err)
	require.InDelta(t, 4.5, scores["loss"], 1e-12)
	scores, err = w.Evaluate(ctx, numbered(10), keras.BatchSize(3), keras.Steps(2))
	require.NoError(t, err)
	require.InDelta(t, 2.5, scores["loss"], 1e-12)
	for _, size := range []int{1, 3, 4, 10, 99} {
		got, err := w.Predict(ctx, numbered(10), keras.BatchSize(size))
		require.NoError(t, err)
		require.Equal(t, sequence(0, 10), got.Elements(), "in order, with the last partial batch")
		require.Equal(t, []int{10, 1}, got.Shape())
	}
	got, err := w.Predict(ctx, numbered(10), keras.BatchSize(3), keras.Steps(2))
	require.NoError(t, err)
	require.Equal(t, sequence(0, 6), got.Elements())
	got, err = w.Predict(ctx, data.FromDataset(numbered(3).Loader(2, false, 0)).Repeat(data.Infinite), keras.Steps(3))
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1, 2, 0, 1}, got.Elements())
}

// A model whose layers add losses needs no other loss, and no targets.
func TestAddedLossAlone(t *testing.T) {
	m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 1, KernelInitializer: "ones", ActivityRegularizer: "l2"})
	compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}})
	h, err := m.Fit(context.Background(), data.Arrays([][]float32{{1, 2}, {2, 3}}, nil), keras.Epochs(20))
	require.NoError(t, err)
	require.InDelta(t, 0.01*(9+25)/2, h.Logs["loss"][0], 1e-6)
	require.Less(t, h.Logs["loss"][19], 0.9*h.Logs["loss"][0])
	require.Equal(t, []string{"loss"}, h.Names())
}

// A model with nothing to train is only measured; with Verbose it says so.
func TestAllFrozen(t *testing.T) {
	m := classifier(t, keras.InputShape(4))
	m.SetTrainable(false)
	compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}})
	before := weightsOf(t, m)
	var out bytes.Buffer
	h, err := m.Fit(context.Background(), data.Arrays(grid(9, 4), cycle(9, 3)), keras.Epochs(2), keras.Verbose(2), keras.ProgressOutput(&out))
	require.NoError(t, err)
	require.Equal(t, before, weightsOf(t, m))
	require.InDelta(t, h.Logs["loss"][0], h.Logs["loss"][1], 1e-6)
	require.Contains(t, out.String(), "has no weights to train")

	// Unfrozen and compiled again, it trains.
	m.SetTrainable(true)
	compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}})
	require.NoError(t, fit(m, data.Arrays(grid(9, 4), cycle(9, 3))))
	assert.NotEqual(t, before, weightsOf(t, m))
}
