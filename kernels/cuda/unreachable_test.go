//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/layers"
)

// fakeKind registers a backend on a fake under a name of its own.
func fakeKind(o fakedriver.Options) (string, *backend, *fakedriver.Fake) {
	f := fakedriver.New(o)
	kind := fmt.Sprint("unreachable", made.Add(1), "of")
	b := newBackend(kind, func() (driver.API, error) { return f, nil })
	kernels.Register(b)
	return kind, b, f
}

// wholeRun makes a model and does with it what users do.
func wholeRun(t *testing.T, kind string, devices int) error {
	var names []string
	for i := range devices {
		names = append(names, fmt.Sprint(kind, ":", i))
	}
	strategy, err := distribute.NewMirroredStrategy(names...)
	if err != nil {
		return err
	}
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 2}}, keras.InputShape(3), distribute.Scope(strategy), keras.Seed(1))
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse", Metrics: []any{"mae"}}); err != nil {
		return err
	}
	x, y := make([][]float32, 10), make([][]float32, 10)
	for i := range x {
		x[i], y[i] = []float32{1, 2, float32(i)}, []float32{0, 1}
	}
	if _, err := model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Epochs(2), keras.ValidationSplit(0.2)); err != nil {
		return err
	}
	if _, err := model.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(3)); err != nil {
		return err
	}
	out, err := model.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(3))
	if err == nil && slices.ContainsFunc(data.Values[float32](out), func(v float32) bool { return v != v }) {
		err = errors.New("NaN is predicted")
	}
	return err
}

// vacate waits until all that is garbage is given back.
func vacate(b *backend) error {
	collect(b, func() bool { return false })
	return b.close()
}

// collect has garbage given back, in several rounds, since some of it belongs to other garbage; fewer where enough is
// given back.
func collect(b *backend, enough func() bool) {
	for range 6 {
		if b.dead.Collect(); enough() {
			return
		}
	}
}

// What belongs to a model is given back when the model is garbage, for one device and for several.
func TestUnreachableModels(t *testing.T) {
	for _, devices := range []int{1, 2} {
		kind, b, f := fakeKind(fakedriver.Options{Devices: devices})
		for range 3 {
			require.NoError(t, wholeRun(t, kind, devices))
		}
		require.NoError(t, vacate(b))
		require.Empty(t, f.Alive(), "%d devices", devices)
		require.NoError(t, f.Fault())
	}
}

// A device whose memory is full of models that nobody uses any more has room for the next.
func TestRoomForAnotherModel(t *testing.T) {
	kind, _, f := fakeKind(fakedriver.Options{Memory: 200 << 10})
	for range 12 {
		strategy, err := distribute.NewOneDeviceStrategy(kind + ":0")
		require.NoError(t, err)
		model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 64}}, keras.InputShape(256), distribute.Scope(strategy), keras.Seed(1))
		require.NoError(t, err)
		_, err = model.Predict(t.Context(), data.Arrays([][]float32{make([]float32, 256)}, nil))
		require.NoError(t, err)
	}
	require.NoError(t, f.Fault())
}

// modelless is a device without models: it keeps memory of the host and events, to use them again.
var modelless = regexp.MustCompile(`^0 allocations of 0 bytes, .* 0 modules, 0 graphs, 0 executable graphs, `)

// Whichever call fails while a model trains, is evaluated and predicts: the error names the call, the process lives on,
// another model works, and nothing is left of either.
func TestEveryCallFailsInKeras(t *testing.T) {
	kind, b, f := fakeKind(fakedriver.Options{})
	require.NoError(t, wholeRun(t, kind, 1))
	calls := f.Calls()
	require.NoError(t, vacate(b))
	r := rand.New(rand.NewPCG(*drawSeed, 8))
	places := 3
	if brief() {
		places = 1
	}
	var names []string
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	count := 0
	for _, name := range names {
		at := map[int]bool{}
		for len(at) < min(places, calls[name]) {
			at[1+r.IntN(calls[name])] = true
		}
		for n := range at {
			count++
			kind, b, f := fakeKind(fakedriver.Options{})
			f.Fail(name, n)
			err := wholeRun(t, kind, 1)
			came := !f.Pending()
			f.Fail("", 0)
			said := fmt.Sprintf("call %d of %s failed: %v", n, name, err)
			if came && !slices.Contains(quiet, name) && !slices.Contains(spared, name) {
				require.ErrorContains(t, err, name, said)
			}
			if slices.Contains(fatal, name) {
				continue
			}
			require.NoError(t, wholeRun(t, kind, 1), said)
			require.NoError(t, f.Fault(), said)
			collect(b, func() bool { return modelless.MatchString(f.Alive()) })
			err = b.close()
			if slices.Contains(quiet, name) || name == "cuGraphDestroy" {
				continue // what could not be given back
			}
			require.NoError(t, err, said)
			require.Empty(t, f.Alive(), said)
		}
	}
	t.Log(count, "failures")
}

// Wherever a copy to the device fails, before a step is launched too, Fit ends with the error.
func TestCopiesFailInFit(t *testing.T) {
	const call = "cuMemcpyHtoDAsync_v2"
	kind, _, f := fakeKind(fakedriver.Options{})
	require.NoError(t, wholeRun(t, kind, 1))
	n := f.Calls()[call]
	require.Positive(t, n)
	for k := 1; k <= n; k++ {
		kind, _, f := fakeKind(fakedriver.Options{})
		f.Fail(call, k)
		if err := wholeRun(t, kind, 1); !f.Pending() {
			require.ErrorContains(t, err, call, "call %d of %d", k, n)
		}
	}
}

// Calls that are made to be faster, without which it goes another way.
var spared = []string{"cuMemHostAlloc", "cuEventCreate"}

// A device that is lost while a model trains: the error says so, and names the program and its layers; with
// GOKERAS_CUDA_BLOCKING it names the layer. A model on another device works.
func TestLostWhileTraining(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		if blocking {
			t.Setenv(blockingVariable, "1")
		}
		var f *fakedriver.Fake
		var launches atomic.Int64
		options := fakedriver.Options{Devices: 2, Before: func(kernel string) {
			if launches.Add(1) == 40 {
				f.Lose(0)
				time.Sleep(5 * time.Millisecond)
			}
		}}
		var kind string
		kind, _, f = fakeKind(options)
		err := wholeRun(t, kind, 1)
		require.ErrorIs(t, err, kernels.ErrDeviceLost)
		require.ErrorContains(t, err, kind+":0")
		if blocking {
			require.Regexp(t, `the device is lost: cuda: cuStreamSynchronize: .*; (adam|mse|mae|loss|sequential/[a-z_0-9]+): [a-z_]+: grid`, err.Error())
			require.NotContains(t, err.Error(), blockingVariable)
		} else {
			require.ErrorContains(t, err, `program "train_step" was under way, in one of the layers`)
			require.ErrorContains(t, err, "sequential/dense_1")
		}
		strategy, err := distribute.NewOneDeviceStrategy(kind + ":1")
		require.NoError(t, err)
		model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(3), distribute.Scope(strategy))
		require.NoError(t, err)
		_, err = model.Predict(t.Context(), data.Arrays([][]float32{{1, 2, 3}}, nil))
		require.NoError(t, err)
	}
}
