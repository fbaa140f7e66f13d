// Package recorded reads the results of other programs that scripts have recorded for tests.
package recorded

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// JSON reads a compressed file of JSON (testdata/*.json.gz). What cannot be read ends the test.
func JSON[T any](t testing.TB, path string) (out T) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	text, err := gzip.NewReader(f)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(text).Decode(&out), path)
	return out
}
