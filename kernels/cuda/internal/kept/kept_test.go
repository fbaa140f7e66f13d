package kept

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeep(t *testing.T) {
	f := At(filepath.Join(t.TempDir(), "a", "b"), Limit)
	assert.Nil(t, f.Get("k"))
	require.NoError(t, f.Put("k", []byte("data")))
	require.NoError(t, f.Put("empty", nil))
	assert.Equal(t, "data", string(f.Get("k")))
	assert.Nil(t, f.Get("K"))
	info, err := os.Stat(f.path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "others cannot put anything there")
	require.NoError(t, f.Put("k", []byte("other")))
	assert.Equal(t, "other", string(f.Get("k")))
	f.Drop("k")
	assert.Nil(t, f.Get("k"))
	require.NoError(t, f.Put("large", make([]byte, fileLimit)), "not kept")
	assert.Nil(t, f.Get("large"))
	var none *Folder
	require.NoError(t, none.Put("k", nil))
	assert.Nil(t, none.Get("k"))
	require.NoError(t, none.Trim())
	none.Drop("k")
}

// Get ignores anything that is not a valid file, and Put replaces it.
func TestHostileFiles(t *testing.T) {
	f := At(t.TempDir(), Limit)
	require.NoError(t, f.Put("k", []byte("the kernel")))
	path := f.file("k")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	write := func(data []byte) func() error {
		return func() error { return os.WriteFile(path, data, 0o600) }
	}
	hostile := map[string]func() error{
		"nothing":      write(nil),
		"the head":     write([]byte(magic)),
		"another file": write([]byte(strings.Repeat("x", 1000))),
		"a pipe":       func() error { return syscall.Mkfifo(path, 0o600) },
		"a folder":     func() error { return os.Mkdir(path, 0o700) },
		"a link":       func() error { return os.Symlink("/dev/zero", path) },
		"a huge file":  func() error { return os.WriteFile(path, append(good, make([]byte, fileLimit)...), 0o600) },
		"unreadable":   func() error { return os.Symlink(path, path) },
	}
	for i := range good {
		hostile[fmt.Sprint("one bit at ", i)] = func() error {
			bad := append([]byte{}, good...)
			bad[i] ^= 1 << (i % 8)
			return os.WriteFile(path, bad, 0o600)
		}
		hostile[fmt.Sprint("cut at ", i)] = write(good[:i])
	}
	for name, make := range hostile {
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, make(), name)
		assert.Nil(t, f.Get("k"), name)
		if name != "a folder" {
			require.NoError(t, f.Put("k", []byte("again")), name)
			assert.Equal(t, "again", string(f.Get("k")), name)
		}
	}
	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, os.WriteFile(path, good, 0o600))
	assert.Equal(t, "the kernel", string(f.Get("k")))
	require.NoError(t, os.Rename(path, f.file("other")))
	assert.Nil(t, f.Get("other"), "the file of another key")
	assert.Error(t, At(filepath.Join(f.file("other"), "x"), Limit).Put("k", nil))
	locked := At("/proc/1/x", Limit)
	assert.Error(t, locked.Put("k", nil), "a folder that cannot be made")
	assert.Error(t, locked.Trim())
}

// Trim removes the least recently used files first.
func TestTrim(t *testing.T) {
	f := At(t.TempDir(), 4000)
	long := time.Now().Add(-48 * time.Hour)
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, f.Put(key, make([]byte, 900)))
		require.NoError(t, os.Chtimes(f.file(key), long, long.Add(time.Duration(i)*time.Minute)))
	}
	left := filepath.Join(f.path, fresh+"1")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	require.NoError(t, os.Chtimes(left, long, long))
	foreign := filepath.Join(f.path, "notes.txt")
	require.NoError(t, os.WriteFile(foreign, make([]byte, 9000), 0o600))
	assert.NotNil(t, f.Get("a"), "it is used")
	require.NoError(t, f.Trim())
	var there []string
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		if f.Get(key) != nil {
			there = append(there, key)
		}
	}
	assert.Equal(t, []string{"a", "d", "e"}, there)
	assert.NoFileExists(t, left)
	assert.FileExists(t, foreign)
}

// The environment names the folder, or disables it.
func TestOpen(t *testing.T) {
	t.Setenv(Variable, "off")
	assert.Nil(t, Open())
	t.Setenv(Variable, "/somewhere")
	assert.Equal(t, "/somewhere", Open().path)
	t.Setenv(Variable, "")
	t.Setenv("XDG_CACHE_HOME", "/caches")
	assert.Equal(t, "/caches/gokeras/cuda", Open().path)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	assert.Nil(t, Open())
}
