package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

func TestWriteReplacesOnlyOnSuccess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	put := func(text string, err error) error {
		return atomicfile.Write(path, func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		})
	}
	require.NoError(t, put("old", nil))
	broken := errors.New("broken")
	require.ErrorIs(t, put("half", broken), broken)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(got))

	require.NoError(t, put("new", nil))
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(got))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "temporary files left behind")
}

func TestWriteReportsAMissingFolder(t *testing.T) {
	err := atomicfile.Write(filepath.Join(t.TempDir(), "none", "file"), func(io.Writer) error { return nil })
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWriteSaysWhatIsMissing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	path := filepath.Join(folder, "file")
	err := atomicfile.Write(path, func(io.Writer) error { return nil })
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "cannot write "+path+": the folder "+folder+" does not exist")
}

func TestNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	_, missing := os.Open(path)
	require.EqualError(t, atomicfile.Named(path, missing), path+": no such file or directory")
	require.ErrorIs(t, atomicfile.Named(path, missing), fs.ErrNotExist)
	require.EqualError(t, atomicfile.Named(path, errors.New("damaged")), path+": damaged")
	named := fmt.Errorf("cannot write %s: the disk is full", path)
	require.Equal(t, named, atomicfile.Named(path, named))
	within := fmt.Errorf("open %s: no such file", filepath.Join(path, "config.json"))
	require.Equal(t, within, atomicfile.Named(path, within))
	require.EqualError(t, atomicfile.Named("a", errors.New("damaged data")), "a: damaged data")
}
