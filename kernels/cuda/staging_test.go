//go:build linux

package cuda

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// stagedRun trains on a random number of examples in batches of which the last is shorter, with validation in between,
// and ends early now and then.
func stagedRun(t *testing.T, seed uint64, devices ...string) []float64 {
	r := rand.New(rand.NewPCG(seed, 5))
	strategy, err := distribute.NewMirroredStrategy(devices...)
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dense{Units: 1}}, keras.InputShape(6), distribute.Scope(strategy), keras.Seed(seed))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []any{"mae"}}))
	n, batch := 4+r.IntN(40), 2+r.IntN(7)
	x32, x64, y, w := make([][]float32, n), make([][]float64, n), make([][]float32, n), make([]float32, n)
	for i := range n {
		for range 6 {
			v := r.NormFloat64()
			x32[i], x64[i] = append(x32[i], float32(v)), append(x64[i], v)
		}
		y[i], w[i] = []float32{float32(r.NormFloat64())}, r.Float32()
	}
	x := any(x32)
	if r.IntN(2) == 0 {
		x = x64
	}
	var options []data.ArrayOption
	if r.IntN(2) == 0 {
		options = append(options, data.SampleWeight(w))
	}
	examples, evaluate := data.Dataset(data.Arrays(x, y, options...)), []keras.EvaluateOption{keras.BatchSize(batch)}
	fit := []keras.FitOption{keras.BatchSize(batch)}
	if seed%2 == 1 { // a pipeline, which brings its own batches
		examples, evaluate, fit = data.FromTensorSlices(x, y, options...).Shuffle(9, seed).Batch(batch, false), nil, nil
	}
	stop := r.IntN(30)
	fit = append(fit, keras.Epochs(3), keras.Callbacks(&callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
		if stop--; stop == 0 {
			model.Stop()
		}
		return nil
	}}))
	if r.IntN(2) == 0 {
		fit = append(fit, keras.ValidationData(examples))
	}
	if seed%2 == 0 && r.IntN(3) == 0 {
		fit = append(fit, keras.Shuffle(false))
	}
	var all []float64
	for range 2 {
		h, err := model.Fit(t.Context(), examples, fit...)
		require.NoError(t, err)
		for _, name := range []string{"loss", "mae", "val_loss"} {
			all = append(all, h.Logs[name]...)
		}
	}
	scores, err := model.Evaluate(t.Context(), examples, evaluate...)
	require.NoError(t, err)
	out, err := model.Predict(t.Context(), examples)
	require.NoError(t, err)
	return append(append(all, scores["loss"], scores["mae"]), data.Values[float64](out)...)
}

// Batches that another goroutine wrote to the memory that devices copy from are those of a run on the CPU, whatever
// their sizes, types and number.
func TestStagedBatches(t *testing.T) {
	var ahead [2]bool // of examples in memory, and of pipelines
	for seed := range uint64(6) {
		devices := 1 + int(seed)%3
		f := fakedriver.New(fakedriver.Options{Devices: devices, Lag: time.Duration(seed/2%2) * 20 * time.Microsecond})
		kind := fmt.Sprint("staged", seed, "of")
		b := newBackend(kind, func() (driver.API, error) { return f, nil })
		kernels.Register(b)
		var gpus, cpus []string
		for i := range devices {
			gpus, cpus = append(gpus, fmt.Sprint(kind, ":", i)), append(cpus, fmt.Sprint("cpu:", i))
		}
		got, want := stagedRun(t, seed, gpus...), stagedRun(t, seed, cpus...)
		require.InDeltaSlice(t, want, got, 1e-4, "seed %d", seed)
		d, err := b.device(kernels.Device{Kind: kind})
		require.NoError(t, err)
		ahead[seed%2] = ahead[seed%2] || len(d.stages) > 0
		require.NoError(t, f.Fault())
	}
	require.Equal(t, [2]bool{true, true}, ahead, "whether batches were written ahead of time")
}

// What was staged for steps that never came is given back: memory of the host does not grow with the runs.
func TestStagedForNothing(t *testing.T) {
	_, f := fakes()
	strategy, err := distribute.NewOneDeviceStrategy("fakecuda:0")
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(2), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	x, y := make([][]float32, 100), make([][]float32, 100)
	for i := range x {
		x[i], y[i] = []float32{1, 2}, []float32{1}
	}
	stop := &callbacks.LambdaCallback{TrainBatchEnd: func(step int, _ *callbacks.Logs) error {
		if step == 5 {
			model.Stop()
		}
		return nil
	}}
	fit := func() {
		_, err := model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Callbacks(stop))
		require.NoError(t, err)
	}
	for range 60 { // until the queue has all its events
		fit()
	}
	before := f.Calls()["cuMemHostAlloc"]
	for range 30 {
		fit()
	}
	require.Less(t, f.Calls()["cuMemHostAlloc"]-before, 45, "one each time is of a queue that is used once in a run")
}

// What is staged is for one write to a buffer of its device and length.
func TestStage(t *testing.T) {
	b := on(t, fakedriver.New(fakedriver.Options{Devices: 2}))
	create := func(index, n int) *buffer {
		made, err := b.NewBuffer(kernels.Device{Kind: Kind, Index: index}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{n}})
		require.NoError(t, err)
		t.Cleanup(made.Free)
		return made.(*buffer)
	}
	x, short, far := create(0, 5), create(0, 4), create(1, 5)
	s := x.Stage()
	copy(s.Bytes(), "hello")
	require.NoError(t, x.WriteStaged(s))
	require.ErrorContains(t, x.WriteStaged(s), "was written already")
	got := make([]byte, 5)
	require.NoError(t, x.Read(got))
	require.Equal(t, "hello", string(got))
	require.ErrorContains(t, short.WriteStaged(x.Stage()), "received 5 bytes, expected 4")
	s = x.Stage()
	require.ErrorContains(t, far.WriteStaged(s), "not staged for its device")
	s.Drop()
	require.Nil(t, create(0, 0).Stage())
	require.Nil(t, create(0, pieceBytes+1).Stage())
}

// A NaN is found in the batch that has it, although batches are looked at and sent ahead of time.
func TestStagedNaN(t *testing.T) {
	fakes()
	strategy, err := distribute.NewOneDeviceStrategy("fakecuda:0")
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(2), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	x, y := make([][]float32, 20), make([][]float32, 20)
	for i := range x {
		x[i], y[i] = []float32{1, float32(i)}, []float32{1}
	}
	x[13][1] = float32(math.NaN())
	var said bytes.Buffer
	_, err = model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Shuffle(false), keras.ProgressOutput(&said))
	require.NoError(t, err)
	require.Contains(t, said.String(), "epoch 1: batch 6: input \"input_layer\" has a NaN (element 3 of (2, 2))")
	_, err = model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Shuffle(false), keras.RefuseNaN())
	require.ErrorContains(t, err, "batch 6: input \"input_layer\" has a NaN")
	_, err = model.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.RefuseNaN())
	require.ErrorContains(t, err, "batch 6: input \"input_layer\" has a NaN")
}
