package keras_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// allocated returns how many bytes f allocates, freed or not.
func allocated(t *testing.T, f func() error) int {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, f())
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestFilesNeedNoMemoryOfTheModelsSize: saving copies weights piece by piece, and loading reads them in place, so a
// model that fits into memory can be saved and served.
func TestFilesNeedNoMemoryOfTheModelsSize(t *testing.T) {
	const weights = 2 * 2048 * 2048 * 4 // bytes
	ones := data.Must(data.ArrayOf(make([]float32, 2048), 1, 2048))
	build := func(t *testing.T, used bool) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Dense{Units: 2048, NoBias: true}, &layers.Dense{Units: 2048, NoBias: true},
		}, keras.InputShape(2048))
		require.NoError(t, err)
		if used {
			_, err = m.Predict(t.Context(), data.Arrays(ones, nil))
			require.NoError(t, err)
		}
		return m
	}
	for _, name := range []string{"a.keras", "a.weights.h5", "a.weights.json", "a.safetensors", "a.npz"} {
		path := filepath.Join(t.TempDir(), name)
		save := func(m *keras.Model) error {
			if filepath.Ext(name) == ".keras" {
				return m.Save(path)
			}
			return m.SaveWeights(path)
		}
		m := build(t, true)
		require.Less(t, allocated(t, func() error { return save(m) }), weights/4, "%s, saved", name)
		require.Less(t, allocated(t, func() error { return m.LoadWeights(path) }), weights*5/8, "%s, loaded into a model in use", name)
		fresh := build(t, false)
		require.Less(t, allocated(t, func() error {
			if err := fresh.LoadWeights(path); err != nil {
				return err
			}
			_, err := fresh.Predict(t.Context(), data.Arrays(ones, nil))
			return err
		}), weights*5/4, "%s, loaded and used", name)
		if filepath.Ext(name) == ".keras" {
			require.Less(t, allocated(t, func() error {
				back, err := keras.LoadModel(path)
				if err == nil {
					_, err = back.Predict(t.Context(), data.Arrays(ones, nil))
				}
				return err
			}), weights*5/4, "a model, loaded and used")
		}
	}
}

// TestBackupsNeedNoMemoryOfTheModelsSize: a backup of weights and optimizer slots is written directly from the
// variables, and read directly into them.
func TestBackupsNeedNoMemoryOfTheModelsSize(t *testing.T) {
	const one = 1024 * 1024 * 4 // bytes of a weight
	const kept = 4 * 3 * one    // weights, and Adam's two means
	x := data.Must(data.Zeros[float32](1, 1024))
	build := func(t *testing.T) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Dense{Units: 1024, NoBias: true}, &layers.Dense{Units: 1024, NoBias: true}, &layers.Dense{Units: 1024, NoBias: true}, &layers.Dense{Units: 1024, NoBias: true},
		}, keras.InputShape(1024))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		return m
	}
	m := build(t)
	_, err := m.TrainOnBatch(t.Context(), data.Arrays(x, x))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "backup.npz")
	at := callbacks.Progress{Epoch: 2, Done: 3}
	load := func(m *keras.Model) func() error {
		return func() error {
			got, err := m.LoadBackup(path)
			require.Equal(t, at, got)
			return err
		}
	}
	require.Less(t, allocated(t, func() error { return m.SaveBackup(path, at) }), one, "saved")
	require.Less(t, allocated(t, load(m)), 2*one, "loaded into a model in use, through memory for one weight")
	require.Less(t, allocated(t, load(build(t))), kept*7/4, "loaded into a model that has no memory yet; large weights begin at a multiple of 2 MiB")
}
