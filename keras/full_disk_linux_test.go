package keras_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/smalldisk"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// filesIn reads all files below a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = os.ReadFile(path)
			all[strings.TrimPrefix(path, dir+"/")] = string(text)
		}
		return err
	}))
	return all
}

// TestFullDisk: wherever the disk becomes full, a file written at once is complete, either old or new, the error names
// the file, and nothing else is left. Growing logs end with complete records.
func TestFullDisk(t *testing.T) {
	const block = 4 << 10
	x := data.Must(data.Zeros[float32](4, 48))
	build := func(t *testing.T, units int) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units}}, keras.InputShape(48))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		return m
	}
	trained := 2 // epochs; those of a backup go on
	fit := func(m *keras.Model, c callbacks.Callback) error {
		defer func() { trained = 3 }()
		_, err := m.Fit(t.Context(), data.Arrays(x, x), keras.Epochs(trained), keras.Verbose(0), keras.Callbacks(c))
		return err
	}
	whole := map[string]func(t *testing.T, m *keras.Model, dir string) error{
		"a.keras": func(_ *testing.T, m *keras.Model, dir string) error { return m.Save(dir + "/a.keras") },
		"folder": func(t *testing.T, m *keras.Model, dir string) error {
			if _, err := os.Stat(dir + "/folder"); err == nil {
				m = build(t, 40) // whose configuration goes with no weights of the other
			}
			return m.Save(dir+"/folder", keras.AsFolder())
		},
		"a.weights.h5":   func(_ *testing.T, m *keras.Model, dir string) error { return m.SaveWeights(dir + "/a.weights.h5") },
		"a.safetensors":  func(_ *testing.T, m *keras.Model, dir string) error { return m.SaveWeights(dir + "/a.safetensors") },
		"a.npz":          func(_ *testing.T, m *keras.Model, dir string) error { return m.SaveWeights(dir + "/a.npz") },
		"a.weights.json": func(_ *testing.T, m *keras.Model, dir string) error { return m.SaveWeights(dir + "/a.weights.json") },
		"latest.weights.npz": func(_ *testing.T, m *keras.Model, dir string) error {
			return m.SaveBackup(dir+"/latest.weights.npz", callbacks.Progress{})
		},
		"backup": func(_ *testing.T, m *keras.Model, dir string) error {
			return fit(m, &callbacks.BackupAndRestore{BackupDir: dir, KeepCheckpoint: true, DoubleCheckpoint: true})
		},
		"checkpoint": func(_ *testing.T, m *keras.Model, dir string) error {
			return fit(m, &callbacks.ModelCheckpoint{FilePath: dir + "/a.keras"})
		},
	}
	for name, write := range whole {
		t.Run(name, func(t *testing.T) {
			disk := smalldisk.Mount(t, 80*block)
			dir := filepath.Join(disk, "files")
			require.NoError(t, os.Mkdir(dir, 0o777))
			m := build(t, 48)
			trained = 2
			require.NoError(t, write(t, m, dir))
			before, filler, failed := filesIn(t, dir), filepath.Join(disk, "filler"), 0
			for free := 0; ; free++ {
				_ = os.Remove(filler)
				fill(t, disk, filler, free*block)
				err := write(t, m, dir)
				after := filesIn(t, dir)
				require.Equal(t, slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)), "%d blocks free: %v", free, err)
				if err == nil {
					break
				}
				failed++
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.ErrorContains(t, err, dir+"/")
				for name := range before {
					readable(t, m, filepath.Join(dir, name))
				}
			}
			require.Greater(t, failed, 2)
		})
	}
}

// fill leaves the given number of bytes free on a disk.
func fill(t *testing.T, disk, filler string, free int) {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(disk, &s))
	if n := int(s.Bavail)*int(s.Bsize) - free; n > 0 {
		require.NoError(t, os.WriteFile(filler, make([]byte, n), 0o600))
	}
}

// readable reads a file into a model.
func readable(t *testing.T, m *keras.Model, path string) {
	t.Helper()
	var err error
	switch {
	case strings.Contains(path, "latest.weights.npz"):
		_, err = m.LoadBackup(path)
	case strings.HasSuffix(path, ".keras"):
		_, err = keras.LoadModel(path)
	case filepath.Base(filepath.Dir(path)) == "folder":
		_, err = keras.LoadModel(filepath.Dir(path))
	case strings.HasSuffix(path, "metadata.json") || strings.Contains(path, "metadata.json.bkp"):
	case strings.HasSuffix(path, ".weights.json"):
		err = m.LoadWeights(path)
	case strings.HasSuffix(path, ".h5") && strings.Contains(path, "_"): // part of a set
	default:
		err = m.LoadWeights(path)
	}
	require.NoError(t, err, path)
}

// TestFullDiskOfLogs: a log that cannot be written ends the run with an error that names the file.
func TestFullDiskOfLogs(t *testing.T) {
	for name, logs := range map[string]func(dir string) callbacks.Callback{
		"csv":         func(dir string) callbacks.Callback { return &callbacks.CSVLogger{Filename: dir + "/log.csv"} },
		"tensorboard": func(dir string) callbacks.Callback { return &callbacks.TensorBoard{LogDir: dir} },
	} {
		t.Run(name, func(t *testing.T) {
			disk := smalldisk.Mount(t, 64<<10)
			m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(1))
			require.NoError(t, err)
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
			x := data.Must(data.Zeros[float32](4, 1))
			fill(t, disk, filepath.Join(disk, "filler"), 0)
			_, err = m.Fit(t.Context(), data.Arrays(x, x), keras.Verbose(0), keras.Callbacks(logs(disk)))
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.ErrorContains(t, err, "write "+disk+"/")
		})
	}
}
