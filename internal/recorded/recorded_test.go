package recorded_test

import (
	"compress/gzip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

func TestJSON(t *testing.T) {
	path := t.TempDir() + "/numbers.json.gz"
	f, err := os.Create(path)
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(`{"Rows":[[1,2],[3]]}`))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	require.Equal(t, [][]float64{{1, 2}, {3}}, recorded.JSON[struct{ Rows [][]float64 }](t, path).Rows)
}
