//go:build linux

package cuda

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// idle is a driver whose calls of each step do nothing, so that what the backend itself costs can be measured.
type idle struct{ *fakedriver.Fake }

func (idle) SetContext(driver.Handle) driver.Result       { return 0 }
func (idle) LaunchGraph(_, _ driver.Handle) driver.Result { return 0 }
func (idle) CopyToHost(to []byte, _ driver.Address, _ driver.Handle) driver.Result {
	clear(to)
	return 0
}
func (idle) CopyToDevice(driver.Address, []byte, driver.Handle) driver.Result         { return 0 }
func (idle) QueryStream(driver.Handle) driver.Result                                  { return 0 }
func (idle) RecordEvent(_, _ driver.Handle) driver.Result                             { return 0 }
func (idle) WaitEvent(_, _ driver.Handle) driver.Result                               { return 0 }
func (idle) Launch(driver.Handle, driver.Config, []uint64) driver.Result              { return 0 }
func (idle) CopyOnDevice(_, _ driver.Address, _ int64, _ driver.Handle) driver.Result { return 0 }
func (idle) QueryEvent(driver.Handle) driver.Result                                   { return 0 }
func (idle) Elapsed(_, _ driver.Handle) (float32, driver.Result)                      { return 1, 0 }
func (idle) SynchronizeEvent(driver.Handle) driver.Result                             { return 0 }

// steady returns what repeats a launch of a captured step.
func steady(t testing.TB, b *backend) func() kernels.Event {
	d := kernels.Device{Kind: Kind}
	var in []kernels.Buffer
	for range 2 {
		x, err := b.NewBuffer(d, ir.Type{DType: ir.Float32, Shape: ir.Shape{5}})
		require.NoError(t, err)
		t.Cleanup(x.Free)
		in = append(in, x)
	}
	e, err := b.Compile(countdown(t), kernels.CompileOptions{Device: d})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	s, err := e.NewSession(kernels.SessionOptions{Device: d})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	q, err := b.NewQueue(d)
	require.NoError(t, err)
	t.Cleanup(q.Close)
	l := kernels.Launch{Queue: q, Inputs: in, Outputs: []kernels.Buffer{nil}}
	ctx := t.Context()
	return func() kernels.Event { return s.Launch(ctx, l) }
}

// A step that repeats the one before costs the host four calls and nothing on the heap.
func TestSteadyStep(t *testing.T) {
	t.Run("heap", func(t *testing.T) {
		f := fakedriver.New(fakedriver.Options{AnyContext: true})
		b := newBackend(Kind, func() (driver.API, error) { return idle{f}, nil })
		t.Cleanup(func() { require.NoError(t, b.close()) })
		step := steady(t, b)
		for range 2 * ringSize {
			require.NoError(t, step().Wait(t.Context()))
		}
		assert.Zero(t, testing.AllocsPerRun(1000, func() { step() }))
	})
	t.Run("heap of replicas", func(t *testing.T) {
		f := fakedriver.New(fakedriver.Options{Devices: 3, AnyContext: true})
		b := newBackend(Kind, func() (driver.API, error) { return idle{f}, nil })
		t.Cleanup(func() { require.NoError(t, b.close()) })
		c, err := newCrew(t, b, 3)
		require.NoError(t, err)
		defer c.Close()
		outputs := []kernels.Buffer{nil}
		step := func() {
			for i, s := range c.sessions {
				s.Launch(context.Background(), kernels.Launch{Queue: c.queues[i], Inputs: c.inputs[i], Outputs: outputs, Communicator: c.comms[i]})
			}
		}
		for range 2 * ringSize {
			step()
		}
		assert.Zero(t, testing.AllocsPerRun(1000, step))
	})
	t.Run("calls", func(t *testing.T) {
		f := fakedriver.New(fakedriver.Options{})
		step := steady(t, on(t, f))
		var last kernels.Event
		for range 5 {
			last = step()
		}
		require.NoError(t, last.Wait(t.Context()))
		before := f.Calls()
		for range 20 {
			last = step()
		}
		after := f.Calls()
		made := map[string]int{}
		for name, n := range after {
			if n -= before[name]; n > 0 && name != "cuMemHostAlloc" && name != "cuEventCreate" && name != "cuEventQuery" && name != "cuCtxSetCurrent" { // the ring of events fills
				made[name] = n
			}
		}
		assert.Equal(t, map[string]int{"cuGraphLaunch": 20, "cuMemcpyDtoHAsync_v2": 20, "cuEventRecord": 20}, made)
		require.NoError(t, last.Wait(t.Context()))
	})
}

// Fit does not wait for the device in each step.
func TestFitDoesNotWait(t *testing.T) {
	_, f := fakes()
	strategy, err := distribute.NewOneDeviceStrategy("fakecuda:1")
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dense{Units: 2}}, keras.InputShape(3), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{}, Loss: &losses.MeanSquaredError{}}))
	const steps = 30 // fewer than the host may be ahead of the device
	x, y := make([][]float32, 2*steps), make([][]float32, 2*steps)
	for i := range x {
		x[i], y[i] = []float32{1, 2, float32(i % 5)}, []float32{0, 1}
	}
	fit := func() {
		_, err := model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2))
		require.NoError(t, err)
	}
	fit()
	f.Record()
	fit()
	replays := 0
	for _, call := range f.Recorded() {
		if call == "cuEventSynchronize" || call == "cuStreamSynchronize" {
			break
		}
		if call == "cuGraphLaunch" {
			replays++
		}
	}
	assert.GreaterOrEqual(t, replays, steps-3, "steps before the host waits for the first time, which is at the end of the epoch")
	require.NoError(t, f.Fault())
}

// A prediction asks for its results before they are there, and waits for the device once.
func TestPredictWaitsOnce(t *testing.T) {
	_, f := fakes()
	strategy, err := distribute.NewOneDeviceStrategy("fakecuda:1")
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dense{Units: 2}}, keras.InputShape(3), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2, 3}}, nil)
	for range 4 {
		_, err = model.Predict(t.Context(), x)
		require.NoError(t, err)
	}
	f.Record()
	_, err = model.Predict(t.Context(), x)
	require.NoError(t, err)
	calls := f.Recorded()
	waits := 0
	for _, call := range calls {
		if call == "cuEventSynchronize" {
			waits++
		}
	}
	assert.Equal(t, 1, waits, "%v", calls)
	assert.NotContains(t, calls[slices.Index(calls, "cuEventSynchronize"):], "cuMemcpyDtoHAsync_v2")
	require.NoError(t, f.Fault())
}

func BenchmarkSteadyStep(b *testing.B) {
	f := fakedriver.New(fakedriver.Options{AnyContext: true})
	back := newBackend(Kind, func() (driver.API, error) { return idle{f}, nil })
	step := steady(b, back)
	for b.Loop() {
		step()
	}
}
