package distribution_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
	"github.com/gokeras/gokeras/layers"
)

// A model whose variables and slots need more memory than a device has is an error that names the device and what does
// not fit. Divided over four such devices it trains to the weights of a device without a limit.
func TestModelLargerThanADevice(t *testing.T) {
	// Bytes; the variables and Adam's slots take 9.5 MB.
	const limit = 6 << 20
	devices := func(kind string) (names []string) { // each kind with its own memory: a model that could not be trained keeps its memory
		kernels.Register(async.New(async.Options{Kind: kind, Devices: 4, Memory: limit, Delay: -1}))
		for i := range 4 {
			names = append(names, fmt.Sprint(kind, ":", i))
		}
		return names
	}
	train := func(s distribute.Strategy) (*keras.Model, []float64, error) {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Dense{Units: 2048, Activation: "relu"}, &layers.Dense{Units: 256, Activation: "tanh"}, &layers.Dense{Units: 4},
		}, keras.InputShape(128), distribute.Scope(s), keras.Seed(3))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		x, y := make([][]float32, 32), make([][]float32, 32)
		for i := range x {
			x[i], y[i] = make([]float32, 128), make([]float32, 4)
			x[i][i], x[i][3*i], y[i][i%4] = 1, -1, 1
		}
		history, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(3), keras.Shuffle(false))
		if err != nil {
			return nil, nil, err
		}
		return m, history.Logs["loss"], nil
	}
	one, err := distribute.NewOneDeviceStrategy(devices("small")[0])
	require.NoError(t, err)
	_, _, err = train(one)
	require.ErrorContains(t, err, "out of memory on small:0")
	require.ErrorContains(t, err, "dense", "the variable that does not fit")
	mesh, err := distribution.NewDeviceMesh([]int{1, 4}, []string{"batch", "model"}, devices("copies")...)
	require.NoError(t, err)
	whole, err := distribution.NewModelParallel(distribution.NewLayoutMap(mesh), "batch")
	require.NoError(t, err)
	_, _, err = train(whole)
	require.ErrorContains(t, err, "out of memory on copies:", "copies on every device fit no better")
	mesh, err = distribution.NewDeviceMesh([]int{1, 4}, []string{"batch", "model"}, devices("parts")...)
	require.NoError(t, err)
	layouts := distribution.NewLayoutMap(mesh)
	for key, axes := range map[string][]string{"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""}} {
		require.NoError(t, layouts.Set(key, axes...))
	}
	divided, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	got, loss, err := train(divided)
	require.NoError(t, err)
	cpu, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantLoss, err := train(cpu)
	require.NoError(t, err)
	require.InDeltaSlice(t, wantLoss, loss, 1e-5)
	require.Less(t, loss[2], loss[0]/2, "it learns")
	sameWeights(t, want, got, 1e-4)
}
