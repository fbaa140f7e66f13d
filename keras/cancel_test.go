package keras_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// atBatch calls f after the given number of batches of training.
type atBatch struct {
	callbacks.Base
	after, seen int
	f           func()
}

func (a *atBatch) OnTrainBatchEnd(int, *callbacks.Logs) error {
	if a.seen++; a.seen == a.after {
		a.f()
	}
	return nil
}

// noNewGoroutines checks at the end of the test that the number of goroutines is that of its beginning.
func noNewGoroutines(t *testing.T) {
	t.Helper()
	require.NoError(t, predict(classifier(t), data.Arrays(grid(600, 4), nil))) // starts goroutines that run as long as the process
	time.Sleep(time.Millisecond)
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		after := 0
		for range 200 {
			if after = runtime.NumGoroutine(); after <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines at the beginning, %d at the end:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	})
}

// momentumClassifier has an optimizer with state, dropout (random numbers a step) and moving statistics.
func momentumClassifier(t testing.TB, replicas int) *keras.Model {
	t.Helper()
	devices := make([]string, replicas)
	for i := range devices {
		devices[i] = fmt.Sprint("cpu:", i)
	}
	m := sequential(t, []keras.Option{keras.InputShape(4), keras.Seed(5), distribute.Scope(mirrored(t, devices...))},
		&layers.Dense{Units: 8, Activation: "relu"}, &layers.BatchNormalization{}, &layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 3})
	compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.05, Momentum: 0.9}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}})
	return m
}

func weightsOf(t testing.TB, m *keras.Model) []kernels.Array {
	t.Helper()
	w, err := m.GetWeights()
	require.NoError(t, err)
	return w
}

// checkReplicas requires that all replicas hold the same, finite weights.
func checkReplicas(t *testing.T, m *keras.Model) {
	t.Helper()
	for _, v := range m.TrainableVariables() {
		first, err := v.Value()
		require.NoError(t, err)
		for _, x := range first.Float64s() {
			require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%v", v)
		}
		for i := range m.Strategy().Devices() {
			b, err := v.Buffer(i)
			require.NoError(t, err)
			copied := make([]byte, len(first.Data))
			require.NoError(t, b.Read(copied))
			require.Equal(t, first.Data, copied, "%v on replica %d", v, i)
		}
	}
}

// A run that is cancelled in the middle of an epoch ends after the step and keeps its weights and history, and another
// run continues.
func TestCancelInEpoch(t *testing.T) {
	x, y := grid(64, 4), cycle(64, 3)
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			noNewGoroutines(t)
			m := momentumClassifier(t, replicas)
			ctx, cancel := context.WithCancel(context.Background())
			stop := &atBatch{after: 2*8 + 5, f: cancel}
			history, err := m.Fit(ctx, data.Arrays(x, y), keras.Epochs(10), keras.BatchSize(8), keras.Shuffle(false), keras.Callbacks(stop))
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "keras: Fit: epoch 3: ")
			require.Equal(t, 21, stop.seen, "no batch after the one that cancelled")
			require.Equal(t, []int{0, 1}, history.Epoch)
			require.Len(t, history.Logs["loss"], 2)
			require.Same(t, history, m.History())

			// Continuing gives the result of an uninterrupted run.
			_, err = m.Fit(context.Background(), data.Arrays(x[40:], y[40:]), keras.BatchSize(8), keras.Shuffle(false))
			require.NoError(t, err)
			whole := momentumClassifier(t, replicas)
			_, err = whole.Fit(context.Background(), data.Arrays(x, y), keras.Epochs(3), keras.BatchSize(8), keras.Shuffle(false))
			require.NoError(t, err)
			require.Equal(t, weightsOf(t, whole), weightsOf(t, m))
		})
	}
}

func TestCancelCauses(t *testing.T) {
	x, y := grid(64, 4), cycle(64, 3)
	m := momentumClassifier(t, 1)
	fitUntil := func(ctx context.Context, options ...keras.FitOption) (*keras.History, error) {
		return m.Fit(ctx, data.Arrays(x, y), append(options, keras.Epochs(1_000_000), keras.BatchSize(8))...)
	}
	boom := errors.New("the lights went out")
	for range 20 { // the loader and the loop notice the end of the context at different points
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Duration(rand.Int64N(int64(2*time.Millisecond))), func() { cancel(boom) })
		_, err := fitUntil(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, boom)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	history, err := fitUntil(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotNil(t, history)

	before := weightsOf(t, m)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	history, err = fitUntil(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, history)
	require.Empty(t, history.Epoch)
	require.Equal(t, before, weightsOf(t, m))
	_, err = m.Predict(ctx, data.Arrays(x, nil))
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Evaluate(ctx, data.Arrays(x, y))
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.TrainOnBatch(ctx, data.Arrays(x, y))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, weightsOf(t, m))
}

// stalling yields some batches and then nothing until its context ends.
type stalling struct {
	batch data.Batch
	n     int
}

func (s stalling) Batches(ctx context.Context, _ int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for range s.n {
			if !yield(s.batch, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(data.Batch{}, ctx.Err())
	}
}

// A run can be cancelled even if data never arrive: in training, validation, evaluation and prediction.
func TestCancelWaitingForData(t *testing.T) {
	noNewGoroutines(t)
	all := data.Arrays(grid(8, 4), cycle(8, 3))
	for _, n := range []int{0, 1, 3} {
		for name, run := range map[string]func(ctx context.Context, m *keras.Model, ds data.Dataset) error{
			"Fit": func(ctx context.Context, m *keras.Model, ds data.Dataset) error { _, err := m.Fit(ctx, ds); return err },
			"validation": func(ctx context.Context, m *keras.Model, ds data.Dataset) error {
				_, err := m.Fit(ctx, all, keras.ValidationData(ds))
				return err
			},
			"Evaluate": func(ctx context.Context, m *keras.Model, ds data.Dataset) error {
				_, err := m.Evaluate(ctx, ds)
				return err
			},
			"Predict": func(ctx context.Context, m *keras.Model, ds data.Dataset) error {
				_, err := m.Predict(ctx, ds)
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			begin := time.Now()
			err := run(ctx, momentumClassifier(t, 1), stalling{all.All(), n})
			require.ErrorIs(t, err, context.DeadlineExceeded, "%s, %d batches", name, n)
			require.Less(t, time.Since(begin), 10*time.Second)
			cancel()
		}
	}
}

// Runs cancelled at any moment leave equal, finite weights on all replicas, no goroutines, and a usable model.
func TestCancelAnywhere(t *testing.T) {
	noNewGoroutines(t)
	x, y := grid(64, 4), cycle(64, 3)
	runs := 60
	if testing.Short() {
		runs = 10
	}
	for _, replicas := range []int{1, 2, 3} {
		m := momentumClassifier(t, replicas)
		for range runs {
			ctx, cancel := context.WithCancel(context.Background())
			timer := time.AfterFunc(time.Duration(rand.Int64N(int64(3*time.Millisecond))), cancel)
			_, err := m.Fit(ctx, data.Arrays(x, y), keras.Epochs(1_000_000), keras.BatchSize(7), keras.ValidationSplit(0.3))
			require.ErrorIs(t, err, context.Canceled)
			timer.Stop()
			cancel()
			checkReplicas(t, m)
		}
		_, err := m.Fit(context.Background(), data.Arrays(x, y))
		require.NoError(t, err)
		scores, err := m.Evaluate(context.Background(), data.Arrays(x, y))
		require.NoError(t, err)
		require.Less(t, scores["loss"], 10.0)
	}
}

// A model trains in one goroutine at a time: others get an error.
func TestTrainingAlone(t *testing.T) {
	m := momentumClassifier(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x, y := data.Arrays(grid(8, 4), cycle(8, 3)), "training or evaluating"
	running := make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := m.Fit(ctx, x, keras.Epochs(1_000_000), keras.Callbacks(&atBatch{after: 1, f: func() { close(running) }}))
		done <- err
	}()
	<-running
	assert.ErrorContains(t, fit(m, x), y)
	assert.ErrorContains(t, evaluate(m, x), y)
	_, err := m.TrainOnBatch(ctx, x)
	assert.ErrorContains(t, err, y)
	_, err = m.TestOnBatch(ctx, x)
	assert.ErrorContains(t, err, y)
	assert.ErrorContains(t, m.Compile(keras.CompileConfig{}), y)
	assert.ErrorContains(t, m.Add(&layers.Dense{Units: 1}), y)
	_, err = m.Pop()
	assert.ErrorContains(t, err, y)
	assert.NoError(t, predict(m, x), "Predict may run at the same time")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, fit(m, x))
}

// Evaluate from a callback would spoil the metrics of the epoch: it is an error and not a deadlock.
func TestEvaluateInsideFit(t *testing.T) {
	m := momentumClassifier(t, 1)
	x := data.Arrays(grid(8, 4), cycle(8, 3))
	var inside error
	require.NoError(t, fit(m, x, keras.Callbacks(&atBatch{after: 1, f: func() { inside = evaluate(m, x) }})))
	require.ErrorContains(t, inside, "around the callback that calls this")
}

// Predict from many goroutines returns each its own results, even in the very first calls, and for batches of many
// sizes.
func TestPredictConcurrently(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			noNewGoroutines(t)
			devices := []string{"cpu:0", "cpu:1"}[:replicas]
			build := func() *keras.Model {
				return sequential(t, []keras.Option{keras.Seed(3), distribute.Scope(mirrored(t, devices...))},
					&layers.Dense{Units: 16, Activation: "tanh"}, &layers.Dense{Units: 3})
			}
			x := grid(40, 4)
			reference, m := build(), build()
			want := make([][]float32, len(x))
			for i := range x {
				y, err := reference.Predict(context.Background(), data.Arrays(x[i:i+1], nil))
				require.NoError(t, err)
				want[i] = y.Elements().([]float32)
			}
			var group sync.WaitGroup
			for g := range 16 {
				group.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(g), 1))
					for range 20 {
						from := rng.IntN(len(x))
						until := from + 1 + rng.IntN(len(x)-from)
						y, err := m.Predict(context.Background(), data.Arrays(x[from:until], nil), keras.BatchSize(1+rng.IntN(12)))
						if !assert.NoError(t, err) {
							return
						}
						got := y.Elements().([]float32)
						for i := range got {
							if !assert.InDelta(t, want[from+i/3][i%3], got[i], 1e-5) {
								return
							}
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// Predict during Fit sees the weights between two steps: two branches that start equal and train alike never differ.
func TestPredictDuringFit(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		devices := []string{"cpu:0", "cpu:1"}[:replicas]
		in := keras.Input(keras.Shape(64))
		branch := func() *layers.KerasTensor {
			return layers.Apply(&layers.Dense{Units: 64, KernelInitializer: "zeros"}, in)
		}
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(branch(), branch()), distribute.Scope(mirrored(t, devices...)))
		require.NoError(t, err)
		compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.01, Momentum: 0.9}, Loss: "mse"})
		x, y := grid(16, 64), grid(16, 64)
		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		var trained atomic.Int64
		began := time.Now()
		for range 4 {
			group.Go(func() {
				for n := 0; n < 100 || trained.Load() == 0 && time.Since(began) < time.Minute; n++ { // until training has begun
					out, err := m.PredictAll(context.Background(), data.Arrays(x, nil))
					if !assert.NoError(t, err) || !assert.Equal(t, out[0].Elements(), out[1].Elements()) {
						break
					}
					if v := out[0].Elements().([]float32)[5]; v != 0 {
						trained.Add(1)
					}
				}
			})
		}
		go func() {
			group.Wait()
			cancel()
		}()
		_, err = m.Fit(ctx, data.Arrays(x, []any{y, y}), keras.Epochs(1_000_000), keras.BatchSize(16))
		require.ErrorIs(t, err, context.Canceled)
		require.Positive(t, trained.Load(), "predictions with trained weights")
	}
}
