package atomicfile_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// TestNoDescriptorLeft: errors of a process without file descriptors say which limit to raise, once, and what was there
// stays.
func TestNoDescriptorLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write := func(text string) error {
		return atomicfile.Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	require.NoError(t, write("old"))
	var before unix.Rlimit
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &before))
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}, nil))
	_, errOpen := os.Open(path)
	errWrite := write("new")
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &before, nil))
	const why = "too many open files; raise the limit of open files (ulimit -n)"
	require.EqualError(t, errWrite, "cannot write "+path+": "+why)
	require.ErrorIs(t, errWrite, syscall.EMFILE)
	require.Equal(t, errWrite, atomicfile.Named(path, errWrite))
	require.EqualError(t, atomicfile.Named(path, errOpen), path+": "+why)
	require.EqualError(t, atomicfile.Named("model", errOpen), "model: open "+path+": "+why)
	require.ErrorIs(t, atomicfile.Named(path, errOpen), syscall.EMFILE)
	require.NotContains(t, atomicfile.Named(path, fs.ErrPermission).Error(), "limit")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.NoError(t, write("new"))
	require.Equal(t, 1, count(t, dir))
}
