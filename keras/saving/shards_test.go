package saving_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
)

// TestShardsOnAFullDisk: if a file or the index of a set cannot be written, the previous set remains and nothing else.
// A set whose index was written but could not be confirmed is complete.
func TestShardsOnAFullDisk(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 30}, &layers.Dense{Units: 30}}, keras.InputShape(30))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.weights.json")
	full, late := "", false
	write := func(name string, contents func(io.Writer) error) error {
		fails := full != "" && strings.HasSuffix(name, full)
		if fails && !late {
			return syscall.ENOSPC
		}
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := contents(f); err != nil || !fails {
			return err
		}
		return syscall.ENOSPC
	}
	files := func() []string {
		all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		require.NoError(t, err)
		return all
	}
	set := func() error { return saving.WriteShards(path, saving.Objects(m), 4000, write) }
	for _, full = range []string{".json", "_00001.weights.h5"} { // there is no set
		require.ErrorIs(t, set(), syscall.ENOSPC)
		require.Empty(t, files(), full)
	}
	full = ""
	require.NoError(t, set())
	before := files()
	require.Len(t, before, 3)
	for _, full = range []string{".json", "_50001.weights.h5"} {
		require.ErrorIs(t, set(), syscall.ENOSPC)
		require.Equal(t, before, files(), full)
		require.NoError(t, m.LoadWeights(path))
	}
	full, late = ".json", true
	require.ErrorIs(t, set(), syscall.ENOSPC)
	require.NoError(t, m.LoadWeights(path))
}
