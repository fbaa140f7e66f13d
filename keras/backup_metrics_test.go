package keras_test

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// A backup from the middle of an epoch has the metrics so far. A program that continues with other metrics reports that
// the backup does not have those, even if they take the same number of bytes; with the same metrics it reports nothing.
func TestBackupOfOtherMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		metrics []any
		said    string
		older   bool // the backup does not say which metrics its numbers belong to
	}{
		"same":            {metrics: []any{"mae"}},
		"same, older":     {metrics: []any{"mae"}, older: true},
		"none, older":     {nil, "16 bytes for each replica, and those of this program have 8;", true},
		"as many bytes":   {[]any{"mse"}, "those of loss/total float32[], loss/count float32[], mae/total float32[], mae/count float32[], and this program has loss/total", false},
		"none":            {nil, ", and this program has loss/total float32[], loss/count float32[];", false},
		"another measure": {[]any{"mae", "mse"}, "mse/count float32[]; the logs of that epoch will be of its remaining batches alone. Give the same", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fit := func(metrics []any, list ...callbacks.Callback) (*keras.History, string, error) {
				m := sequential(t, []keras.Option{keras.Seed(8)}, &layers.Dense{Units: 1})
				compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: "mse", Metrics: metrics})
				var said bytes.Buffer
				x, y := line(20)
				list = append([]callbacks.Callback{&callbacks.BackupAndRestore{BackupDir: dir, SaveFreq: 1}}, list...)
				h, err := m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(2), keras.Verbose(0), keras.ProgressOutput(&said), keras.Callbacks(list...))
				return h, said.String(), err
			}
			_, _, err := fit([]any{"mae"}, &interrupter{epoch: 1, batch: 3})
			require.ErrorIs(t, err, errBoom)
			if c.older {
				withoutMember(t, dir, "training/measured.npy")
			}
			h, said, err := fit(c.metrics)
			require.NoError(t, err)
			if c.said == "" {
				require.Empty(t, said)
				return
			}
			begin := "The backup's metrics of epoch 1 so far are not those of this program: "
			if !c.older {
				begin += "those of loss/total float32[], loss/count float32[], mae/"
			}
			require.Contains(t, said, begin)
			require.Contains(t, said, c.said)
			require.NotEmpty(t, h.Logs["loss"])
		})
	}
}

// withoutMember rewrites the only archive in a folder without one of its members.
func withoutMember(t *testing.T, dir, name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.npz"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	archive, err := zip.OpenReader(files[0])
	require.NoError(t, err)
	defer archive.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, member := range archive.File {
		if member.Name != name {
			require.NoError(t, w.Copy(member))
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(files[0], out.Bytes(), 0o600))
}
