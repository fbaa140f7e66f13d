//go:build linux

package cuda

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// counting is a driver that does nothing in a step but count the kernels.
type counting struct {
	idle
	launches *atomic.Int64
}

func (c counting) Launch(driver.Handle, driver.Config, []uint64) driver.Result {
	c.launches.Add(1)
	return 0
}

var counter = sync.OnceValue(func() *atomic.Int64 {
	n := new(atomic.Int64)
	kernels.Register(newBackend("countcuda", func() (driver.API, error) {
		return counting{idle{fakedriver.New(fakedriver.Options{AnyContext: true})}, n}, nil
	}))
	return n
})

// launchesOf is how many kernels a step of training launches.
func launchesOf(t *testing.T, shape []int, network []layers.Layer, optimizer any) int {
	n := counter()
	strategy, err := distribute.NewOneDeviceStrategy("countcuda:0")
	require.NoError(t, err)
	model, err := keras.NewSequential(network, keras.InputShape(shape...), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	size := 1
	for _, d := range shape {
		size *= d
	}
	fit := func(steps int) int {
		x, y := make([][]float32, 64*steps), make([]int32, 64*steps)
		for i := range x {
			x[i] = make([]float32, size)
		}
		before := n.Load()
		_, err := model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(64))
		require.NoError(t, err)
		return int(n.Load() - before)
	}
	fit(1)
	return fit(1) // not captured yet
}

// A step of training launches few kernels: those that only write results share launches, and so do the updates of all
// variables. Gradients of biases are found by the kernels of those of matrices.
func TestLaunchesPerStep(t *testing.T) {
	dense := func() []layers.Layer {
		return []layers.Layer{&layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 10}}
	}
	cnn := []layers.Layer{
		&layers.Reshape{TargetShape: []int{28, 28, 1}}, &layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{},
		&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 10},
	}
	norm := []layers.Layer{
		&layers.Reshape{TargetShape: []int{28, 28, 1}}, &layers.Conv2D{Filters: 32, KernelSize: []int{3}}, &layers.BatchNormalization{}, &layers.ReLU{},
		&layers.Conv2D{Filters: 64, KernelSize: []int{3}}, &layers.BatchNormalization{}, &layers.ReLU{}, &layers.GlobalAveragePooling2D{}, &layers.Dense{Units: 10},
	}
	lstm := []layers.Layer{&layers.Reshape{TargetShape: []int{28, 28}}, &layers.LSTM{Units: 128}, &layers.Dense{Units: 10}}
	for _, c := range []struct {
		name      string
		network   []layers.Layer
		optimizer any
		most      int
	}{
		{"MLP, Adam", dense(), &optimizers.Adam{}, 17},
		{"MLP, SGD with momentum", dense(), &optimizers.SGD{Momentum: 0.9}, 16},
		{"CNN, Adam", cnn, &optimizers.Adam{}, 27},
		{"batch normalization, Adam", norm, &optimizers.Adam{}, 33},
		{"LSTM of 28 steps, Adam", lstm, &optimizers.Adam{}, 23},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := launchesOf(t, []int{784}, c.network, c.optimizer)
			t.Log(n, "launches")
			assert.LessOrEqual(t, n, c.most)
		})
	}
}
