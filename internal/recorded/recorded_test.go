package recorded_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

// compressed writes a file that write fills.
func compressed(t *testing.T, write func(io.Writer)) string {
	path := t.TempDir() + "/recorded.gz"
	f, err := os.Create(path)
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	write(z)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	return path
}

func TestJSON(t *testing.T) {
	path := compressed(t, func(w io.Writer) {
		_, err := w.Write([]byte(`{"Rows":[[1,2],[3]]}`))
		require.NoError(t, err)
	})
	require.Equal(t, [][]float64{{1, 2}, {3}}, recorded.JSON[struct{ Rows [][]float64 }](t, path).Rows)
}

func TestFolder(t *testing.T) {
	path := compressed(t, func(w io.Writer) {
		files := tar.NewWriter(w)
		require.NoError(t, files.WriteHeader(&tar.Header{Name: "./a/", Typeflag: tar.TypeDir, Mode: 0o755}))
		for _, name := range []string{"one", "./a/two"} {
			require.NoError(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(name))}))
			_, err := files.Write([]byte(name))
			require.NoError(t, err)
		}
		require.NoError(t, files.Close())
	})
	folder := recorded.Folder(t, path)
	for _, name := range []string{"one", "./a/two"} {
		text, err := os.ReadFile(folder + "/" + name)
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
}
