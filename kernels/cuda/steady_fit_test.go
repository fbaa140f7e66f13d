//go:build linux

package cuda

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// steadyFits are models on drivers that do nothing, with the examples for as many steps.
var steadyFits = []struct {
	name    string
	devices int
	busy    bool // kernels are always under way, so that batches go through slots
	batch   int
	float   any // of the examples
}{
	{"one GPU", 1, false, 64, float32(0)},
	{"one GPU, batches ahead", 1, true, 64, float32(0)},
	{"one GPU, small batches", 1, true, 4, float32(0)},
	{"one GPU, float64 examples", 1, false, 64, float64(0)},
	{"two GPUs", 2, false, 64, float32(0)},
	{"two GPUs, batches ahead, uneven", 2, true, 63, float32(0)},
}

// busy is a driver whose kernels do not come to an end.
type busy struct{ idle }

func (busy) QueryStream(driver.Handle) driver.Result { return driver.NotReady }

// examples are rows of 784 numbers with labels.
func examplesOf(n int, like any) data.Dataset {
	y := make([]int32, n)
	if _, double := like.(float64); double {
		x := make([][]float64, n)
		for i := range x {
			x[i] = make([]float64, 784)
		}
		return data.Arrays(x, y)
	}
	x := make([][]float32, n)
	for i := range x {
		x[i] = make([]float32, 784)
	}
	return data.Arrays(x, y)
}

// steadyModel is a compiled MLP on devices of its own.
func steadyModel(t testing.TB, kind string, devices int, isBusy bool) *keras.Model {
	kernels.Register(newBackend(kind, func() (driver.API, error) {
		d := idle{fakedriver.New(fakedriver.Options{AnyContext: true, Devices: devices})}
		if isBusy {
			return busy{d}, nil
		}
		return d, nil
	}))
	names := []string{kind + ":0", kind + ":1"}[:devices]
	var strategy distribute.Strategy
	var err error
	if devices == 1 {
		strategy, err = distribute.NewOneDeviceStrategy(names[0])
	} else {
		strategy, err = distribute.NewMirroredStrategy(names...)
	}
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 32, Activation: "relu"}, &layers.Dense{Units: 10}}, keras.InputShape(784), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []any{"accuracy"}}))
	return model
}

// ofUser is a dataset that nothing is known of.
type ofUser struct{ data.Dataset }

// A step of Fit leaves the heap alone, from the examples in Go's memory to the launch: what more steps allocate is
// nothing.
func TestFitAllocatesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection throws finished goroutines away
	for i, c := range steadyFits {
		t.Run(c.name, func(t *testing.T) {
			model := steadyModel(t, "steady"+string(rune('a'+i)), c.devices, c.busy)
			const few, many = 40, 440
			sets := map[int]data.Dataset{few: examplesOf(few*c.batch, c.float), many: examplesOf(many*c.batch, c.float)}
			fit := func(ds data.Dataset) error {
				_, err := model.Fit(t.Context(), ds, keras.BatchSize(c.batch))
				return err
			}
			evaluate := func(ds data.Dataset) error {
				_, err := model.Evaluate(t.Context(), ds, keras.BatchSize(c.batch))
				return err
			}
			allocations := func(run func(data.Dataset) error, steps int) int {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				require.NoError(t, run(sets[steps]))
				runtime.ReadMemStats(&after)
				return int(after.Mallocs - before.Mallocs)
			}
			user := func(ds data.Dataset) error {
				_, err := model.Fit(t.Context(), ofUser{ds.(*data.ArraySource).Loader(c.batch, true, 1)})
				return err
			}
			for name, run := range map[string]func(data.Dataset) error{"Fit": fit, "Evaluate": evaluate, "Fit of a user's dataset": user} {
				require.NoError(t, run(sets[many])) // fills pools
				best := 1 << 30
				for range 4 { // the runtime makes a few of its own on a busy machine
					best = min(best, allocations(run, many)-allocations(run, few))
				}
				assert.Less(t, best, (many-few)/4, "%s: allocations in %d steps", name, many-few)
			}
		})
	}
}

// stepClock measures steps from when the batch is there to when the next is asked for.
type stepClock struct {
	callbacks.Base
	begun time.Time
	steps []time.Duration
}

func (c *stepClock) OnTrainBatchBegin(int) error {
	c.begun = time.Now()
	return nil
}

func (c *stepClock) OnTrainBatchEnd(int, *callbacks.Logs) error {
	c.steps = append(c.steps, time.Since(c.begun))
	return nil
}

// BenchmarkFitStep measures a step of Fit where kernels and copies take no time: all of it, of which the goroutine that
// shuffles and copies examples may be the longer part, and that of the goroutine that runs the steps.
func BenchmarkFitStep(b *testing.B) {
	for i := range 2 {
		b.Run(slug(workloads()[i].name), func(b *testing.B) {
			w := workloads()[i] // its layers serve one model, and this function may run again
			counter()
			b.ReportMetric(0, "ns/op")
			strategy, err := distribute.NewOneDeviceStrategy("countcuda:0")
			require.NoError(b, err)
			model, err := keras.NewSequential(w.network, keras.InputShape(784), distribute.Scope(strategy), keras.Seed(1))
			require.NoError(b, err)
			require.NoError(b, model.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
			const steps = 1000
			examples := examplesOf(64*steps, float32(0))
			var all []time.Duration
			clock := &stepClock{}
			for range 4 {
				begin := time.Now()
				_, err := model.Fit(b.Context(), examples, keras.BatchSize(64))
				require.NoError(b, err)
				all = append(all, time.Since(begin)/steps)
				_, err = model.Fit(b.Context(), examples, keras.BatchSize(64), keras.Callbacks(clock))
				require.NoError(b, err)
			}
			slices.Sort(clock.steps)
			microseconds := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
			b.ReportMetric(microseconds(slices.Min(all)), "us/step")
			b.ReportMetric(microseconds(clock.steps[len(clock.steps)/2]), "us/host-median")
			b.ReportMetric(microseconds(clock.steps[0]), "us/host-least")
		})
	}
}

// BenchmarkPredictOne measures the prediction of one example.
func BenchmarkPredictOne(b *testing.B) {
	for i := range 2 {
		b.Run(slug(workloads()[i].name), func(b *testing.B) {
			w := workloads()[i] // its layers serve one model, and this function may run again
			counter()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(predictTime(b, "countcuda:0", w.network, 3000).Nanoseconds())/1e3, "us/call")
		})
	}
}
