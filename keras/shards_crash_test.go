package keras_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras/saving"
)

// TestShardsAfterCrash interrupts the writing of a set at each of its files, alternating sets with fewer and more
// files: what can be loaded is the old set or the new one, never files of both, and no intermediate files remain.
func TestShardsAfterCrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.weights.json")
	crash := errors.New("crash")
	kept := stackOf(t, 1, 4, 5, 2)
	require.NoError(t, kept.SaveShardedWeights(path, 100))
	for round := range 6 {
		next := stackOf(t, uint64(round+2), 4, 5, 2)
		for at, done := 0, false; !done; at++ {
			files := 0
			err := saving.WriteShards(path, saving.Objects(next), []int64{40 * 4, 100, 1000}[round%3], func(path string, contents func(io.Writer) error) error {
				if files++; files > at {
					return crash
				}
				return atomicfile.Write(path, contents)
			})
			if done = err == nil; !done {
				require.ErrorIs(t, err, crash)
			}
			got := stackOf(t, 9, 4, 5, 2)
			require.NoError(t, got.LoadWeights(path), "round %d, file %d", round, at)
			if done || reflect.DeepEqual(allArrays(t, next), allArrays(t, got)) {
				kept = next
			}
			require.Equal(t, allArrays(t, kept), allArrays(t, got), "round %d, file %d", round, at)
		}
		set, err := saving.OpenShards(path)
		require.NoError(t, err)
		require.NoError(t, set.Close())
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries { // files of an older, larger set may remain after a crash
			require.Regexp(t, `^m(\.weights\.json|_0000[0-9]\.weights\.h5)$`, e.Name())
		}
		require.Contains(t, shardFiles(t, path), "m_00000.weights.h5", "Keras opens no set without it")
	}
}

// shardFiles lists the files of a set.
func shardFiles(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var index struct {
		Map map[string]any `json:"weight_map"`
	}
	require.NoError(t, json.Unmarshal(text, &index))
	files := map[string]bool{}
	for _, names := range index.Map {
		if list, ok := names.([]any); ok {
			for _, name := range list {
				files[name.(string)] = true
			}
			continue
		}
		files[names.(string)] = true
	}
	return files
}
