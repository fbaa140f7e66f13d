package keras_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// reusing is a user's dataset whose batches all use the same memory, with changing lengths. It counts the requested
// batches, and fails, panics or ends the goroutine at given batches.
type reusing struct {
	x       [][]float32
	y       []int32
	fail    int // number of the batch, -1 for none
	how     func() error
	begun   int
	waiting time.Duration
}

var errData = errors.New("the disk is on fire")

func (r *reusing) Batches(ctx context.Context, epoch int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		xs, ys := make([]float32, 6*8), make([]int32, 8)
		at := 0
		for i := 0; at < len(r.x); i++ {
			n := min(4+(i+epoch)%2*4, len(r.x)-at)
			for k := range n {
				copy(xs[6*k:], r.x[at+k])
				ys[k] = r.y[at+k]
			}
			at += n
			r.begun++
			time.Sleep(r.waiting)
			if err := ctx.Err(); err != nil {
				yield(data.Batch{}, err)
				return
			}
			if i == r.fail {
				if err := r.how(); err != nil {
					yield(data.Batch{}, err)
					return
				}
			}
			b := data.Batch{X: data.List(data.Must(data.ArrayOf(xs[:6*n], n, 6))), Y: data.List(data.Must(data.ArrayOf(ys[:n], n)))}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// datasetOf creates one of the available datasets, with a cardinality or without.
func datasetOf(r *rand.Rand, x [][]float32, y []int32) data.Dataset {
	p := data.FromTensorSlices(x, y)
	switch r.IntN(8) {
	case 0:
		return &reusing{x: x, y: y, fail: -1}
	case 1:
		return data.Arrays(x, y).Loader(1+r.IntN(8), true, 5)
	case 2:
		return p.Shuffle(20, 3).Batch(1+r.IntN(9), false)
	case 3:
		return p.Batch(4, false).Prefetch(2)
	case 4:
		return p.ParallelMap(2, func(_ context.Context, b data.Batch) (data.Batch, error) { return b, nil }).Batch(5, false)
	case 5:
		return p.Filter(func(b data.Batch) bool { return data.Values[int32](b.Y.Single())[0] > 0 }).Batch(3, false)
	case 6:
		return p.Cache().Batch(6, false)
	default:
		return data.FromDataset(data.FromGenerator(data.Arrays(x, y).Loader(4, false, 0).Batches)).Unbatch().Batch(7, false)
	}
}

// fedRun trains with a random dataset, sometimes continues across the ends of epochs, and stops early.
func fedRun(t *testing.T, seed uint64, kind string) (numbers []float64, asked int) {
	r := rand.New(rand.NewPCG(seed, 7))
	s, err := distribute.NewMirroredStrategy([]string{kind + ":0", kind + ":1"}[:1+r.IntN(2)]...)
	require.NoError(t, err)
	m := asyncModel(t, s, keras.CompileConfig{})
	x, y := asyncData(20+r.IntN(40), class)
	ds := datasetOf(r, x, y)
	fit := []keras.FitOption{keras.Epochs(3)}
	if r.IntN(2) == 0 {
		fit = append(fit, keras.StepsPerEpoch(2+r.IntN(3)), keras.ProgressOutput(&strings.Builder{}))
	}
	if r.IntN(2) == 0 {
		fit = append(fit, keras.ValidationData(datasetOf(r, x, y)))
	}
	stop := r.IntN(20)
	fit = append(fit, keras.Callbacks(&callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
		if stop--; stop == 0 {
			m.Stop()
		}
		return nil
	}}))
	h, err := m.Fit(t.Context(), ds, fit...)
	require.NoError(t, err)
	for _, name := range []string{"loss", "accuracy", "val_loss"} {
		numbers = append(numbers, h.Logs[name]...)
	}
	scores, err := m.Evaluate(t.Context(), ds)
	require.NoError(t, err)
	out, err := m.Predict(t.Context(), ds)
	require.NoError(t, err)
	if user, ok := ds.(*reusing); ok && stop > 0 {
		asked = user.begun
	}
	return append(append(numbers, scores["loss"]), data.Values[float64](out)...), asked
}

// Datasets of every kind are sent ahead to devices with their own memory. The numbers are those of a run on the CPU,
// and no batch beyond an epoch is requested.
func TestFedDatasets(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		before := runtime.NumGoroutine()
		want, asked := fedRun(t, seed, cpu.Kind)
		got, alike := fedRun(t, seed, async.Shared().Kind())
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, asked, alike, "seed %d: batches that were asked for", seed)
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+4 }, 5*time.Second, time.Millisecond, "goroutines are left")
	}
}

// Errors of a dataset are reported at the step that would have used the batch, whatever was read ahead.
func TestFedFailures(t *testing.T) {
	x, y := asyncData(40, class)
	fit := func(t *testing.T, ctx context.Context, ds data.Dataset, each func(step int)) (steps int, err error) {
		s, err := distribute.NewOneDeviceStrategy(async.Shared().Kind() + ":0")
		require.NoError(t, err)
		m := asyncModel(t, s, keras.CompileConfig{})
		_, err = m.Fit(ctx, ds, keras.Epochs(2), keras.Callbacks(&callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
			each(steps)
			steps++
			return nil
		}}))
		return steps, err
	}
	nothing := func(int) {}
	t.Run("error", func(t *testing.T) {
		steps, err := fit(t, t.Context(), &reusing{x: x, y: y, fail: 3, how: func() error { return errData }}, nothing)
		require.ErrorIs(t, err, errData)
		require.Equal(t, 3, steps)
	})
	t.Run("panic", func(t *testing.T) {
		defer func() {
			died, ok := recover().(*data.PanicError)
			require.True(t, ok)
			require.Equal(t, "out of paper", died.Value)
			require.Contains(t, string(died.Stack), "feeder_test.go")
		}()
		_, _ = fit(t, t.Context(), &reusing{x: x, y: y, fail: 2, how: func() error { panic("out of paper") }}, nothing)
		t.Error("no panic")
	})
	t.Run("the goroutine ends", func(t *testing.T) {
		ended := make(chan bool)
		go func() {
			defer close(ended)
			_, _ = fit(t, t.Context(), &reusing{x: x, y: y, fail: 2, how: func() error { runtime.Goexit(); return nil }}, nothing)
			t.Error("Fit went on")
		}()
		<-ended
	})
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		steps, err := fit(t, ctx, &reusing{x: x, y: y, fail: -1}, func(step int) {
			if step == 2 {
				cancel()
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, steps)
	})
	t.Run("slow and canceled", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := fit(t, ctx, &reusing{x: x, y: y, fail: -1, waiting: 20 * time.Millisecond}, nothing)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("NaN", func(t *testing.T) {
		bad, _ := asyncData(40, class)
		bad[17][2] = float32(math.NaN())
		s, err := distribute.NewOneDeviceStrategy(async.Shared().Kind() + ":0")
		require.NoError(t, err)
		m := asyncModel(t, s, keras.CompileConfig{})
		_, err = m.Fit(t.Context(), data.FromTensorSlices(bad, y).Batch(4, false), keras.RefuseNaN())
		require.ErrorContains(t, err, fmt.Sprintf("batch 4: input 0 has a NaN (element %d of (4, 6))", 6+2))
	})
}
