//go:build linux

package cuda

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// fakes is a backend of kind "fakecuda" for all tests of the package that go through Keras.
var fakes = sync.OnceValues(func() (*backend, *fakedriver.Fake) {
	f := fakedriver.New(fakedriver.Options{Devices: 8, MemoryClock: 2_619_000})
	b := newBackend("fakecuda", func() (driver.API, error) { return f, nil })
	library := fakenccl.New(fakenccl.NewWorld(), f)
	b.openNCCL = func() (nccl.API, error) { return library, nil }
	kernels.Register(b)
	return b, f
})

// digits are 24 made-up images of 8 by 8 in three classes, with a shape that a small network can learn.
func digits() (x [][][][]float32, y []int32) {
	for i := range 24 {
		class := i % 3
		image := make([][][]float32, 8)
		for r := range image {
			image[r] = make([][]float32, 8)
			for c := range image[r] {
				image[r][c] = []float32{float32(math.Sin(float64(i*64+r*8+c))) / 4}
				if r/3 == class {
					image[r][c][0]++
				}
			}
		}
		x, y = append(x, image), append(y, int32(class))
	}
	return x, y
}

var networks = map[string]func() []layers.Layer{
	"MLP": func() []layers.Layer {
		return []layers.Layer{
			&layers.Flatten{},
			&layers.Dense{Units: 16, Activation: "relu"},
			&layers.Dropout{Rate: 0.25},
			&layers.Dense{Units: 3},
		}
	},
	"CNN": func() []layers.Layer {
		return []layers.Layer{
			&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Activation: "relu"},
			&layers.MaxPooling2D{},
			&layers.BatchNormalization{},
			&layers.Flatten{},
			&layers.Dropout{Rate: 0.25},
			&layers.Dense{Units: 16, Activation: "gelu"},
			&layers.Dense{Units: 3},
		}
	},
	"augmentation": func() []layers.Layer {
		first, err := keras.NewSequential([]layers.Layer{
			&layers.RandomFlip{},
			&layers.RandomTranslation{HeightFactor: []float64{-0.2, 0.2}, WidthFactor: []float64{-0.2, 0.2}},
			&layers.RandomRotation{Factor: []float64{-0.1, 0.1}},
		})
		if err != nil {
			panic(err)
		}
		return []layers.Layer{
			first,
			&layers.RandomContrast{Factor: []float64{0.3, 0.3}, ValueRange: []float64{0, 1}},
			&layers.Flatten{},
			&layers.Dense{Units: 3},
		}
	},
}

// trained is a small network after three epochs on a device.
func trained(t *testing.T, device string, network []layers.Layer) (*keras.Model, *keras.History) {
	strategy, err := distribute.NewOneDeviceStrategy(device)
	require.NoError(t, err)
	model, err := keras.NewSequential(network, keras.InputShape(8, 8, 1), distribute.Scope(strategy), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 0.01},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
		Metrics:   []string{"accuracy"},
	}))
	x, y := digits()
	history, err := model.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(3), keras.BatchSize(4))
	require.NoError(t, err)
	return model, history
}

// A model trained on a GPU has the weights that it has on the CPU, up to rounding: also its dropout masks are the same.
// Its step is a graph that is replayed.
func TestTraining(t *testing.T) {
	_, f := fakes()
	for name, network := range networks {
		t.Run(name, func(t *testing.T) {
			want, wantHistory := trained(t, "cpu:0", network())
			before := f.Calls()
			got, history := trained(t, "fakecuda:0", network())
			require.NoError(t, f.Fault())
			calls := f.Calls()
			assert.GreaterOrEqual(t, calls["cuGraphLaunch"]-before["cuGraphLaunch"], 12, "steps are replayed")
			sameWeights(t, want, got, 2e-4)
			for name, values := range wantHistory.Logs {
				require.InDeltaSlice(t, values, history.Logs[name], 1e-3, name)
			}
			x, y := digits()
			scores, err := got.Evaluate(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			wantScores, err := want.Evaluate(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			require.InDelta(t, wantScores["loss"], scores["loss"], 1e-3)
			predictions, err := got.Predict(t.Context(), data.Arrays(x, nil))
			require.NoError(t, err)
			wantPredictions, err := want.Predict(t.Context(), data.Arrays(x, nil))
			require.NoError(t, err)
			require.InDeltaSlice(t, wantPredictions.Elements(), predictions.Elements(), 1e-3)

			y[5] = 7 // no such class: an error, and the weights stay
			_, err = got.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(24))
			require.ErrorContains(t, err, "7")
			sameWeights(t, want, got, 2e-4)
			y[5] = 2
			_, err = got.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(24))
			require.NoError(t, err, "the model works after the mistake")
			require.NoError(t, f.Fault())
		})
	}
}

func sameWeights(t *testing.T, want, got *keras.Model, tolerance float64) {
	t.Helper()
	a, err := want.GetWeights()
	require.NoError(t, err)
	b, err := got.GetWeights()
	require.NoError(t, err)
	require.Len(t, b, len(a))
	for i := range a {
		require.InDeltaSlice(t, a[i].Elements(), b[i].Elements(), tolerance, "weight %d", i)
	}
}
