package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// keras2File is a file of Keras 2 with layers "dense" (4 to 5), "batch_normalization" and "dense_1" (5 to 3), and its
// weights.
func keras2File(t *testing.T) (path string, weights []kernels.Array) {
	t.Helper()
	folder := t.TempDir()
	unpackArchive(t, "files.zip", folder)
	path = filepath.Join(folder, "files", "keras2_h5_sequential_trained", "model.h5")
	m, err := keras.LoadModel(path)
	require.NoError(t, err)
	weights = allArrays(t, m)
	require.Len(t, weights, 8)
	return path, weights
}

func stackWith(t *testing.T, inputs int, stack ...layers.Layer) (m *keras.Model, weights []kernels.Array) {
	t.Helper()
	m, err := keras.NewSequential(stack, keras.InputShape(inputs), keras.Seed(7))
	require.NoError(t, err)
	return m, allArrays(t, m)
}

// As in Keras, of a layer that fits in part the variables that fit are loaded.
func TestSkipMismatchOfKeras2(t *testing.T) {
	path, file := keras2File(t)
	m, before := stackWith(t, 6, &layers.Dense{Units: 5}, &layers.BatchNormalization{}, &layers.Dense{Units: 3})
	require.ErrorContains(t, m.LoadWeights(path), "shape mismatch: the variable has shape (6, 5), the file holds shape (4, 5)")
	require.Equal(t, before, allArrays(t, m))
	var report keras.LoadReport
	require.NoError(t, m.LoadWeights(path, keras.SkipMismatch(), keras.Report(&report)))
	after := allArrays(t, m)
	require.Equal(t, before[0], after[0])
	require.Equal(t, file[1:], after[1:])
	require.Len(t, report.Skipped, 1)
	require.Equal(t, "dense/dense/kernel:0", report.Skipped[0].Tensor)
}

// Layers of the file's names are loaded wherever they are, and no others, as in Keras with by_name=True.
func TestByName(t *testing.T) {
	path, file := keras2File(t)
	m, before := stackWith(t, 5, &layers.Dense{Units: 3, Name: "dense_1"}, &layers.Dense{Units: 4, Name: "new"}, &layers.Dense{Units: 5, Name: "dense"}, &layers.Activation{Activation: "relu", Name: "dropout"})
	require.ErrorContains(t, m.LoadWeights(path), "the weights do not fit the model")
	var report keras.LoadReport
	require.NoError(t, m.LoadWeights(path, keras.ByName(), keras.Report(&report)))
	after := allArrays(t, m)
	require.Equal(t, file[6:], after[:2])
	require.Equal(t, before[2:4], after[2:4])
	require.Equal(t, file[:2], after[4:])
	require.Len(t, report.Unused, 4)
	require.Equal(t, "batch_normalization/batch_normalization/beta:0", report.Unused[0])

	m, before = stackWith(t, 4, &layers.Dense{Units: 5, Name: "dense"}, &layers.Dense{Units: 2, Name: "dense_1"}, &layers.Activation{Activation: "relu", Name: "batch_normalization"})
	err := m.LoadWeights(path, keras.ByName())
	require.ErrorContains(t, err, `layer "dense_1": variable`)
	require.ErrorContains(t, err, `layer "batch_normalization" (Activation) expected 0 variables, but the file has 4`)
	require.Equal(t, before, allArrays(t, m))
	require.NoError(t, m.LoadWeights(path, keras.ByName(), keras.SkipMismatch()))
	after = allArrays(t, m)
	require.Equal(t, file[:2], after[:2])
	require.Equal(t, before[2:], after[2:])

	for _, name := range []string{"m.weights.h5", "m.keras", "m.npz", "m.weights.json"} {
		path := filepath.Join(t.TempDir(), name)
		if name == "m.keras" {
			require.NoError(t, m.Save(path))
		} else {
			require.NoError(t, m.SaveWeights(path))
		}
		require.ErrorContains(t, m.LoadWeights(path, keras.ByName()), "ByName is for .h5 files of Keras 2", name)
	}
}
