package keras_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// monteCarlo is a model that drops half of its 16 inputs in predictions, too.
func monteCarlo(t *testing.T, options ...keras.Option) *keras.Model {
	t.Helper()
	in := keras.Input(keras.Shape(16))
	dropped := layers.ApplyWith(&layers.Dropout{Rate: 0.5}, layers.Keywords{"training": true}, in)
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(dropped), options...)
	require.NoError(t, err)
	return m
}

// TestPredictionsDrawAnew: each batch and each call drops other numbers, with the inputs as the mean. Models of equal
// seeds agree call by call whatever else they do, and a model that was read starts over.
func TestPredictionsDrawAnew(t *testing.T) {
	ctx := context.Background()
	ones := data.Arrays(slices.Repeat([][]float32{slices.Repeat([]float32{1}, 16)}, 8), nil)
	predict := func(m *keras.Model) []float32 {
		y, err := m.Predict(ctx, ones, keras.BatchSize(4))
		require.NoError(t, err)
		return y.Float32s()
	}
	mirrored, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	for _, options := range [][]keras.Option{nil, {keras.Seed(3)}, {distribute.Scope(mirrored)}} {
		a, b := monteCarlo(t, options...), monteCarlo(t, options...)
		require.NoError(t, a.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		var first []float32
		var seen [][]float32
		sum, calls := 0.0, 40
		for i := range calls {
			got := predict(a)
			require.Equal(t, got, predict(b), "call %d", i)
			if i == 0 {
				first = got
			}
			for _, half := range [][]float32{got[:64], got[64:]} {
				for _, other := range seen {
					require.NotEqual(t, other, half, "call %d", i)
				}
				seen = append(seen, half)
			}
			for _, v := range got {
				require.Contains(t, []float32{0, 2}, v)
				sum += float64(v)
			}
			if i%10 == 5 { // training and evaluations use none of the numbers
				x := data.Arrays(slices.Repeat([][]float32{make([]float32, 16)}, 4), slices.Repeat([][]float32{make([]float32, 16)}, 4))
				_, err := a.TrainOnBatch(ctx, x)
				require.NoError(t, err)
				_, err = a.TestOnBatch(ctx, x)
				require.NoError(t, err)
			}
		}
		require.InDelta(t, 1, sum/float64(calls*len(first)), 0.07) // five deviations
		document, err := a.ToJSON()
		require.NoError(t, err)
		if len(options) == 0 {
			again, err := keras.ModelFromJSON(document)
			require.NoError(t, err)
			require.Equal(t, first, predict(again))
		}
	}
	require.NotEqual(t, predict(monteCarlo(t)), predict(monteCarlo(t, keras.Seed(3))))
}

// TestPredictionsAtOnceDrawAnew: goroutines share the sequence of numbers.
func TestPredictionsAtOnceDrawAnew(t *testing.T) {
	m, b := monteCarlo(t), monteCarlo(t)
	x := data.Arrays([][]float32{slices.Repeat([]float32{1}, 16), slices.Repeat([]float32{1}, 16)}, nil)
	results := make([][]float32, 24)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 6 {
				if y, err := m.PredictOnBatch(context.Background(), x); err == nil {
					results[6*i+j] = y.Float32s()
				}
			}
		})
	}
	group.Wait()
	for i := range results {
		y, err := b.PredictOnBatch(context.Background(), x)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(results, func(r []float32) bool { return slices.Equal(r, y.Float32s()) }), i)
	}
}

// samplesNoise adds random numbers in predictions.
type samplesNoise struct {
	layers.Base
	Name string
}

func (l *samplesNoise) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Add(in[0], ops.RandomNormal(c, ir.Float32, 0, 1, 0, in[0].Shape()...))}
}

// TestPredictionsAreNotTheNoiseOfTraining: the loss of a step on zeros is the mean square of its noise, which no
// prediction repeats.
func TestPredictionsAreNotTheNoiseOfTraining(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&samplesNoise{}}, keras.InputShape(4))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	x := [][]float32{{0, 0, 0, 0}}
	for range 3 {
		logs, err := m.TrainOnBatch(context.Background(), data.Arrays(x, x))
		require.NoError(t, err)
		y, err := m.Predict(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		square := 0.0
		for _, v := range y.Float64s() {
			square += v * v / 4
		}
		require.NotZero(t, square)
		require.Greater(t, math.Abs(logs["loss"]-square), 1e-5)
	}
}

// TestEvaluationsDrawAnew: each batch and each call of evaluations has other noise, whose mean square is the loss.
// Models of equal seeds agree, and earlier evaluations do not affect a validation.
func TestEvaluationsDrawAnew(t *testing.T) {
	ctx := context.Background()
	x := slices.Repeat([][]float32{{0, 0, 0, 0}}, 12)
	ds := data.Arrays(x, x)
	mirrored, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	for _, options := range [][]keras.Option{nil, {distribute.Scope(mirrored)}} {
		noisy := func() *keras.Model {
			m, err := keras.NewSequential([]layers.Layer{&samplesNoise{}}, append(options, keras.InputShape(4))...)
			require.NoError(t, err)
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
			return m
		}
		a, b := noisy(), noisy()
		seen := map[float64]bool{}
		for range 3 {
			of := map[*keras.Model][]float64{}
			for _, m := range []*keras.Model{a, b} {
				losses := &testLosses{}
				_, err := m.Evaluate(ctx, ds, keras.BatchSize(4), keras.Callbacks(losses))
				require.NoError(t, err)
				logs, err := m.TestOnBatch(ctx, ds)
				require.NoError(t, err)
				of[m] = append(losses.all, logs["loss"])
			}
			require.Equal(t, of[a], of[b])
			for _, v := range of[a] {
				require.False(t, seen[v], "%v was drawn before", v)
				seen[v] = true
			}
		}
		fit := func(m *keras.Model) []float64 {
			h, err := m.Fit(ctx, ds, keras.BatchSize(4), keras.Epochs(3), keras.ValidationData(ds))
			require.NoError(t, err)
			return h.Logs["val_loss"]
		}
		got := fit(a)
		require.Equal(t, got, fit(noisy()))
		for _, v := range got {
			require.False(t, seen[v], "%v was drawn before", v)
			seen[v] = true
		}
	}
}

// testLosses records the running mean after each batch of an evaluation.
type testLosses struct {
	callbacks.Base
	all []float64
}

func (c *testLosses) OnTestBatchEnd(_ int, logs *callbacks.Logs) error {
	v, _ := logs.Get("loss")
	c.all = append(c.all, v)
	return nil
}

// TestRandomValidationAfterABackup: a resumed run has the validations of an uninterrupted one.
func TestRandomValidationAfterABackup(t *testing.T) {
	x := slices.Repeat([][]float32{{0, 0, 0, 0}}, 8)
	fit := func(list ...callbacks.Callback) ([]float64, error) {
		m, err := keras.NewSequential([]layers.Layer{&samplesNoise{}, &layers.Dense{Units: 4}}, keras.InputShape(4))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		h, err := m.Fit(context.Background(), data.Arrays(x, x), keras.BatchSize(4), keras.Epochs(4), keras.ValidationData(data.Arrays(x, x)), keras.Callbacks(list...))
		if err != nil {
			return nil, err
		}
		return h.Logs["val_loss"], nil
	}
	want, err := fit()
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = fit(&callbacks.BackupAndRestore{BackupDir: dir}, &interrupter{epoch: 2, batch: 1})
	require.ErrorIs(t, err, errBoom)
	got, err := fit(&callbacks.BackupAndRestore{BackupDir: dir})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestRandomPredictionsAllocateNothing: random numbers are drawn where they are needed.
func TestRandomPredictionsAllocateNothing(t *testing.T) {
	ctx := context.Background()
	m := monteCarlo(t)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	rows := slices.Repeat([][]float32{make([]float32, 16)}, 4)
	x := data.Arrays(rows, rows)
	y, err := m.PredictOnBatch(ctx, x)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(200, func() { err = errors.Join(err, m.PredictOnBatchInto(ctx, x, y)) }))
	require.NoError(t, err)
}
