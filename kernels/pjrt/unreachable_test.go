//go:build linux

package pjrt_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/layers"
)

// kinds counts the backends that were made of the fake plugin: each has a kind of its own.
var kinds atomic.Int32

// wholeRun makes a model under a strategy and does with it what users do.
func wholeRun(t *testing.T, s distribute.Strategy) error {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 2}}, keras.InputShape(3), distribute.Scope(s), keras.Seed(1))
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse", Metrics: []any{"mae"}}); err != nil {
		return err
	}
	x, y := make([][]float32, 8), make([][]float32, 8)
	for i := range x {
		x[i], y[i] = []float32{1, 2, float32(i)}, []float32{0, 1}
	}
	if _, err := model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Epochs(2), keras.ValidationSplit(0.25)); err != nil {
		return err
	}
	if _, err := model.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(3)); err != nil {
		return err
	}
	_, err = model.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(3))
	return err
}

// What belongs to a model is given back when the model is garbage, on one device, on several and on a mesh.
func TestUnreachableModels(t *testing.T) {
	f := fake(t)
	f.reset(-1, 0, 115, 0)
	for name, strategy := range map[string]func(kind string) (distribute.Strategy, error){
		"one": func(kind string) (distribute.Strategy, error) { return distribute.NewOneDeviceStrategy(kind + ":0") },
		"two": func(kind string) (distribute.Strategy, error) {
			return distribute.NewMirroredStrategy(kind+":0", kind+":1")
		},
		"mesh": func(kind string) (distribute.Strategy, error) {
			mesh, err := distribution.NewDeviceMesh([]int{1, 2}, []string{"batch", "model"}, kind+":0", kind+":1")
			if err != nil {
				return nil, err
			}
			layouts := distribution.NewLayoutMap(mesh)
			if err := layouts.Set("dense/kernel", "", "model"); err != nil {
				return nil, err
			}
			return distribution.NewModelParallel(layouts, "batch")
		},
	} {
		kind := fmt.Sprint("unreachable", kinds.Add(1), "of")
		b := pjrt.New(kind, f.path)
		kernels.Register(b)
		s, err := strategy(kind)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, wholeRun(t, s))
		}
		for end := time.Now().Add(10 * time.Second); f.alive(3) > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			runtime.GC()
		}
		runtime.KeepAlive(s)
		require.NoError(t, b.Close())
		require.Empty(t, f.leaks(""), name)
	}
}
