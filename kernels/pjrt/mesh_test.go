//go:build linux

package pjrt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// sentences are made-up token sequences in which each token depends on the ones before.
func sentences(n, length, vocabulary int) (x, y [][]int32) {
	for i := range n {
		row := make([]int32, length+1)
		for j := range row {
			row[j] = int32((i*3 + j*(i%3+1) + int(4*math.Sin(float64(i*j)))) % vocabulary)
			if row[j] < 0 {
				row[j] += int32(vocabulary)
			}
		}
		x, y = append(x, row[:length]), append(y, row[1:])
	}
	return x, y
}

// trainedGPT trains a small language model for 20 steps.
func trainedGPT(t *testing.T, s distribute.Strategy) (*keras.Model, []float64) {
	t.Helper()
	m, err := keras.NewModel(newGPT(), distribute.Scope(s), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	x, y := sentences(40, 6, 16)
	history, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(4))
	require.NoError(t, err)
	return m, history.Logs["loss"]
}

func xlaMesh(t *testing.T, shape ...int) *distribution.DeviceMesh {
	t.Helper()
	t.Setenv("GOKERAS_PJRT_PLUGIN", plugin(t))
	mesh, err := distribution.NewDeviceMesh(shape, []string{"batch", "model"}[:len(shape)], distribution.ListDevices("xla")...)
	require.NoError(t, err)
	return mesh
}

// A GPT on 4 devices, 2 parts of the batch and 2 of the weights, has the weights of one device after 20 steps. The
// variables and their slots lie in parts.
func TestModelParallelGPT(t *testing.T) {
	mesh := xlaMesh(t, 2, 2)
	layouts := distribution.NewLayoutMap(mesh)
	for key, axes := range map[string][]string{
		".*embedding/embeddings": {"", "model"}, ".*(query|key|value)/kernel": {"", "model", ""}, ".*attention_output/kernel": {"model", "", ""},
		"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""},
	} {
		require.NoError(t, layouts.Set(key, axes...))
	}
	d, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	require.Equal(t, 1, d.NumReplicasInSync())
	cpu, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantLoss := trainedGPT(t, cpu)
	got, loss := trainedGPT(t, d)
	require.InDeltaSlice(t, wantLoss, loss, 2e-4)
	require.Less(t, loss[3], loss[0], "it learns")
	sameWeights(t, want, got, 2e-3)
	matched := 0
	for _, v := range got.Weights() {
		l, err := layouts.Get(v.Path())
		require.NoError(t, err)
		if l != nil {
			matched++
		}
	}
	require.Equal(t, 8, matched, "the keys of the layout map name variables: %v", got.Weights())
	parts := 0
	for _, v := range append(got.Weights(), got.Optimizer().Variables()...) {
		b, err := v.Buffer(0)
		require.NoError(t, err)
		if shape := b.(interface{ PartShape() []int }).PartShape(); fmt.Sprint(shape) != fmt.Sprint([]int(v.Type().Shape)) {
			parts++
		}
	}
	require.Equal(t, 3*8, parts, "variables, momenta and velocities are cut")
}

// Data parallel training on a mesh, with a last batch that does not divide, measures and predicts what one device does.
func TestDataParallel(t *testing.T) {
	d, err := distribution.NewDataParallel(xlaMesh(t, 4))
	require.NoError(t, err)
	run := func(s distribute.Strategy) (*keras.Model, map[string]float64, []float32) {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Activation: "relu"}, &layers.BatchNormalization{}, &layers.Flatten{}, &layers.Dropout{Rate: 0.25}, &layers.Dense{Units: 3},
		}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
		x, y := digits()
		_, err = m.Fit(t.Context(), data.Arrays(x[:22], y[:22]), keras.BatchSize(8), keras.Epochs(2))
		require.NoError(t, err)
		scores, err := m.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(8))
		require.NoError(t, err)
		p, err := m.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(8))
		require.NoError(t, err)
		return m, scores, p.Elements().([]float32)
	}
	cpu, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantScores, wantPredictions := run(cpu)
	got, scores, predictions := run(d)
	sameWeights(t, want, got, 2e-4)
	require.InDelta(t, wantScores["loss"], scores["loss"], 1e-3)
	require.InDeltaSlice(t, wantPredictions, predictions, 1e-3)
}

// Predictions from many goroutines, and beside them a training run that replaces the weights, all find whole arrays.
func TestMeshFromManyGoroutines(t *testing.T) {
	d, err := distribution.NewDataParallel(xlaMesh(t, 4))
	require.NoError(t, err)
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(2), distribute.Scope(d), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	x, y := [][]float32{{1, 2}, {3, 4}, {5, 6}, {7, 8}}, [][]float32{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}
	failed := make(chan error, 4)
	for range 4 {
		go func() {
			var err error
			for i := 0; i < 20 && err == nil; i++ {
				_, err = m.PredictOnBatch(t.Context(), data.Arrays(x, nil))
			}
			failed <- err
		}()
	}
	_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(20))
	require.NoError(t, err)
	for range 4 {
		require.NoError(t, <-failed)
	}
}

// Layouts that cannot be are errors that name the variable.
func TestMeshMistakes(t *testing.T) {
	mesh := xlaMesh(t, 2, 2)
	train := func(key string, axes ...string) error {
		layouts := distribution.NewLayoutMap(mesh)
		require.NoError(t, layouts.Set(key, axes...))
		d, err := distribution.NewModelParallel(layouts, "")
		require.NoError(t, err)
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(2), distribute.Scope(d))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		_, err = m.Fit(t.Context(), data.Arrays([][]float32{{1, 2}}, [][]float32{{1, 2, 3}}))
		return err
	}
	require.ErrorContains(t, train("dense/kernel", "", "model"), "axis 1 of dense/kernel has length 3 and cannot be divided into 2 equal parts")
	require.ErrorContains(t, train("dense/bias", "", "model"), "the layout of dense/bias names 2 axes")
	require.NoError(t, train("dense/kernel", "model", ""))
	_, err := pjrt.New("other", plugin(t)).NewMesh(kernels.MeshOptions{Shape: []int{2}, Devices: []kernels.Device{{Kind: "other"}}})
	require.ErrorContains(t, err, "expected as many devices as it has places")
}
