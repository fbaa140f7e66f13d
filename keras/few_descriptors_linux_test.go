package keras_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestFewDescriptors: a service without free file descriptors predicts over its existing connections, for new batch
// sizes too, and trains. What needs a file reports which limit to raise and leaves the old file intact. Everything
// works again when the limit is raised.
func TestFewDescriptors(t *testing.T) {
	m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 1, KernelInitializer: "ones"})
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a.keras"), filepath.Join(dir, "backup.npz")
	files := map[string]func() error{
		"Save":       func() error { return m.Save(path) },
		"SaveBackup": func() error { return m.SaveBackup(backup, callbacks.Progress{}) },
		"LoadBackup": func() error { _, err := m.LoadBackup(backup); return err },
		"LoadModel":  func() error { _, err := keras.LoadModel(path); return err },
		"weights":    func() error { return m.LoadWeights(path) },
	}
	for _, name := range []string{"Save", "SaveBackup"} {
		require.NoError(t, files[name]())
	}
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var rows [][]float32
		err := json.NewDecoder(r.Body).Decode(&rows)
		var y [][]float32
		if err == nil {
			y, err = m.PredictRows(r.Context(), data.Arrays(rows, nil), keras.BatchSize(len(rows)))
		}
		fmt.Fprint(w, y, err)
	}))
	defer server.Close()
	ask := func(body string) string {
		r, err := server.Client().Post(server.URL, "application/json", bytes.NewBufferString(body))
		require.NoError(t, err)
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "[[3]] <nil>", ask("[[1, 2]]"))
	var before unix.Rlimit
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &before))
	limit := func(n uint64) {
		require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: before.Max}, nil))
	}
	defer limit(before.Cur)
	limit(3)
	require.Equal(t, "[[3] [7] [11]] <nil>", ask("[[1, 2], [3, 4], [5, 6]]"))
	_, err = m.Fit(t.Context(), data.Arrays([][]float32{{1, 2}}, [][]float32{{3}}), keras.Verbose(0))
	require.NoError(t, err)
	for name, f := range files {
		require.ErrorContains(t, f(), "too many open files; raise the limit of open files (ulimit -n)", name)
	}
	limit(before.Cur)
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, was, is)
	for name, f := range files {
		require.NoError(t, f(), name)
	}
}
