// Package recorded reads the results of other programs that scripts have recorded for tests.
package recorded

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// JSON reads a compressed file of JSON (testdata/*.json.gz). What cannot be read ends the test.
func JSON[T any](t testing.TB, path string) (out T) {
	t.Helper()
	require.NoError(t, json.NewDecoder(decompressed(t, path)).Decode(&out), path)
	return out
}

// Folder unpacks a compressed archive of files (testdata/*.tar.gz) into a folder that lasts as long as the test, and
// returns the folder. What cannot be read ends the test.
func Folder(t testing.TB, path string) string {
	t.Helper()
	folder := t.TempDir()
	for files := tar.NewReader(decompressed(t, path)); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		require.NoError(t, err, path)
		if h.Typeflag == tar.TypeDir {
			continue
		}
		require.True(t, filepath.IsLocal(h.Name), "%s: file %q", path, h.Name)
		content, err := io.ReadAll(files)
		require.NoError(t, err, path)
		name := filepath.Join(folder, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, content, 0o644))
	}
}

func decompressed(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	require.NoError(t, err, path)
	return z
}
