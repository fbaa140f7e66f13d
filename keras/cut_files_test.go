package keras_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// Files of every format that end early, or in which a byte has changed, are errors that change nothing. Zip archives,
// which have checksums, give the written values if no checksum covers the byte.
func TestCutFilesChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(27118000, 2))
	build := func(target float32) *keras.Model {
		m := sequential(t, []keras.Option{keras.InputShape(4)}, &layers.Dense{Units: 5}, &layers.BatchNormalization{}, &layers.Dense{Units: 2})
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{}, Loss: "mse"}))
		_, err := m.TrainOnBatch(context.Background(), data.Arrays([][]float32{{1, 2, 3, 4}}, [][]float32{{target, 2}}))
		require.NoError(t, err)
		return m
	}
	values := func(m *keras.Model) (weights, slots []kernels.Array) {
		weights, err := m.GetWeights()
		require.NoError(t, err)
		slots, err = m.OptimizerArrays()
		require.NoError(t, err)
		return weights, slots
	}
	written, read := build(50), build(-50)
	weights, slots := values(read)
	weightsOfFile, _ := values(written)
	require.NotEqual(t, weights, weightsOfFile)
	folder := t.TempDir()
	kept := filepath.Join(folder, "kept.npz")
	require.NoError(t, read.SaveBackup(kept, callbacks.Progress{}))
	for _, name := range []string{"a.weights.h5", "a.safetensors", "a.npz", "a.keras", "a.backup.npz"} {
		path := filepath.Join(folder, name)
		load := func(path string) error { return read.LoadWeights(path) }
		var err error
		switch name {
		case "a.keras":
			err = written.Save(path)
		case "a.backup.npz":
			err = written.SaveBackup(path, callbacks.Progress{})
			load = func(path string) error { _, err := read.LoadBackup(path); return err }
		default:
			err = written.SaveWeights(path)
		}
		require.NoError(t, err, name)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		damaged := filepath.Join(folder, "damaged."+name[2:])
		for i := range 600 {
			at := rng.IntN(len(whole))
			part := append([]byte{}, whole[:at]...)
			if i%2 == 1 {
				part = append([]byte{}, whole...)
				part[at] ^= byte(1 + rng.IntN(255))
			}
			require.NoError(t, os.WriteFile(damaged, part, 0o600))
			if err := load(damaged); err == nil {
				require.Equal(t, 1, i%2, "%s, %d of %d bytes", name, at, len(whole))
				if got, _ := values(read); !strings.HasSuffix(name, ".h5") && !strings.HasSuffix(name, ".safetensors") { // which have no checksums
					require.Equal(t, weightsOfFile, got, "%s, byte %d of %d", name, at, len(whole))
				}
				_, err := read.LoadBackup(kept)
				require.NoError(t, err)
				continue
			}
			gotWeights, gotSlots := values(read)
			require.Equal(t, weights, gotWeights, "%s, byte %d of %d, cut: %t", name, at, len(whole), i%2 == 0)
			require.Equal(t, slots, gotSlots, "%s, byte %d of %d, cut: %t", name, at, len(whole), i%2 == 0)
		}
	}
}
