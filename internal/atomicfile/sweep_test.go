package atomicfile_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

const writeVariable = "GOKERAS_TEST_WRITE"

// The test program plays a writer that is killed in the middle of writing.
func TestMain(m *testing.M) {
	if path := os.Getenv(writeVariable); path != "" {
		_ = atomicfile.Write(path, func(w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			fmt.Println("writing")
			_, _ = io.ReadAll(os.Stdin) // until it is killed
			return nil
		})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writer starts one, and returns when it is in the middle of writing.
func writer(t *testing.T, path string) (kill func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), writeVariable+"="+path)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	_, err = c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(entries)
}

// What a killed writer left goes with the next one, or when the folder is swept; what somebody writes to stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.keras")
	for range 3 {
		writer(t, path)()
	}
	kill := writer(t, path)
	require.Greater(t, count(t, dir), 0)
	put := func(path string) {
		require.NoError(t, atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }))
	}
	others := []string{"notes.tmp", "model.keras.tmp", "a.0123456789.tmp", ".01234567.tmp", "b.ABCDEF01.tmp"}
	for _, name := range others {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	put(path)
	require.Equal(t, 2+len(others), count(t, dir), "the new file, that of the writer at work, and those that are not ours")
	atomicfile.Sweep(dir)
	require.Equal(t, 2+len(others), count(t, dir))
	kill()
	put(filepath.Join(dir, "model.kerasx")) // not the same file
	require.Equal(t, 3+len(others), count(t, dir))
	atomicfile.Sweep(dir)
	require.Equal(t, 2+len(others), count(t, dir))
	atomicfile.Sweep(filepath.Join(dir, "none"))
}

// Writers and sweepers at once: no writer loses its file.
func TestSweepBesideWriters(t *testing.T) {
	dir := t.TempDir()
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for k := range 50 {
				path := filepath.Join(dir, fmt.Sprint("file", (i+k)%3))
				if err := atomicfile.Write(path, func(w io.Writer) error { _, err := fmt.Fprint(w, i, k); return err }); err != nil {
					t.Error(err)
				}
				atomicfile.Sweep(dir)
			}
		})
	}
	running.Wait()
	require.Equal(t, 3, count(t, dir))
}
