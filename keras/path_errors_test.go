package keras_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/keras/features"
	"github.com/gokeras/gokeras/keras/plot"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
)

// TestErrorsNameAFileOnce: errors of the operating system include the path, which the message around them must not
// repeat.
func TestErrorsNameAFileOnce(t *testing.T) {
	m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 1})
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	fit := func(cb callbacks.Callback) error {
		rows := [][]float32{{1, 2}}
		_, err := m.Fit(t.Context(), data.Arrays(rows, [][]float32{{1}}), keras.ValidationData(data.Arrays(rows, [][]float32{{1}})), keras.Callbacks(cb))
		return err
	}
	array := data.Array{}
	require.NoError(t, func() (err error) { array, err = m.Predict(t.Context(), data.Arrays([][]float32{{1, 2}}, nil)); return }())
	history := &keras.History{}
	reads := map[string]func(path string) error{
		"LoadNPY":       func(p string) error { _, err := data.LoadNPY(p); return err },
		"LoadNPZ":       func(p string) error { _, err := data.LoadNPZ(p); return err },
		"LoadIDX":       func(p string) error { _, err := data.LoadIDX(p); return err },
		"LoadCSV":       func(p string) error { _, err := data.LoadCSV(p); return err },
		"LoadWAV":       func(p string) error { _, _, err := data.LoadWAV(p); return err },
		"LoadImage":     func(p string) error { _, err := data.LoadImage(p, 2, 2, data.RGB); return err },
		"ImageFolder":   func(p string) error { _, err := data.ImageFolder(p, 2, 2); return err },
		"Images":        func(p string) error { _, err := data.ImageDatasetFromDirectory(p, 2, 2); return err },
		"Texts":         func(p string) error { _, err := data.TextDatasetFromDirectory(p); return err },
		"Sounds":        func(p string) error { _, err := data.AudioDatasetFromDirectory(p); return err },
		"LoadModel":     func(p string) error { _, err := keras.LoadModel(p); return err },
		"LoadWeights":   func(p string) error { return m.LoadWeights(p) },
		"LoadBackup":    func(p string) error { _, err := m.LoadBackup(p); return err },
		"OpenArchive":   func(p string) error { _, err := saving.OpenArchive(p); return err },
		"OpenShards":    func(p string) error { _, err := saving.OpenShards(p); return err },
		"features.Load": func(p string) error { _, err := features.Load(p); return err },
		"HistoryFile":   func(p string) error { return plot.HistoryFile(p, filepath.Join(t.TempDir(), "h.svg")) },
		"applications": func(p string) error {
			_, err := applications.NewVGG16(applications.Options{Weights: p})
			return err
		},
		"CSVLogger.Append": func(p string) error { return fit(&callbacks.CSVLogger{Filename: p, Append: true}) },
	}
	writes := map[string]func(path string) error{
		"SaveNPY":            func(p string) error { return data.SaveNPY(p, array) },
		"SaveNPZ":            func(p string) error { return data.SaveNPZ(p, data.Tensors{}) },
		"Save":               func(p string) error { return m.Save(p) },
		"SaveWeights":        m.SaveWeights,
		"SaveShardedWeights": func(p string) error { return m.SaveShardedWeights(p, 1<<20) },
		"SaveBackup":         func(p string) error { return m.SaveBackup(p, callbacks.Progress{}) },
		"Export":             func(p string) error { return m.Export(p) },
		"plot.Model":         func(p string) error { return plot.Model(m, p) },
		"plot.History":       func(p string) error { return plot.History(history, p) },
		"CSVLogger":          func(p string) error { return fit(&callbacks.CSVLogger{Filename: p}) },
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "a-file")
	require.NoError(t, os.WriteFile(file, []byte("no file of that kind\n"), 0o600))
	for _, ext := range []string{"", ".npy", ".npz", ".csv", ".wav", ".png", ".keras", ".weights.h5", ".weights.json", ".h5", ".json", ".svg", ".safetensors", ".onnx", ".idx.gz"} {
		dir, kept := filepath.Join(folder, "dir"+ext), filepath.Join(folder, "kept"+ext)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(kept, []byte("no file of that kind\n"), 0o600))
		paths := []string{filepath.Join(folder, "missing"+ext), filepath.Join(folder, "no-folder", "missing"+ext), filepath.Join(file, "below"+ext), dir, kept}
		for name, f := range reads {
			for _, p := range paths {
				if err := f(p); err != nil {
					if strings.Count(err.Error(), p) > 1 {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
		for name, f := range writes {
			for _, p := range paths[:3] {
				if err := f(p); err != nil {
					if strings.Count(err.Error(), p) > 1 {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
	}
}
