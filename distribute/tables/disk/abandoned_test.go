package disk

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test run itself as a process that opens a store in a directory and waits to be killed.
func TestMain(m *testing.M) {
	if directory := os.Getenv("GOKERAS_TEST_ROWS"); directory != "" {
		if _, err := open(directory, least); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("open\n")
		select {}
	}
	os.Exit(m.Run())
}

// TestAbandonedStoresAreRemoved: what a killed process left goes; stores that are open, here and in other processes,
// and whatever else is in the directory stay.
func TestAbandonedStoresAreRemoved(t *testing.T) {
	defer func(before time.Duration) { grace = before }(grace)
	grace = 0
	directory := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(directory, "rows-of-mine"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(directory, prefix+"file"), nil, 0o600))
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "GOKERAS_TEST_ROWS="+directory)
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill() }) // where the test ends before it does
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	count := func() int {
		folders, err := os.ReadDir(directory)
		require.NoError(t, err)
		return len(folders) - 2
	}
	first, err := open(directory, least)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	relative, err := os.Getwd()
	require.NoError(t, err)
	relative, err = filepath.Rel(relative, directory)
	require.NoError(t, err)
	second, err := open(relative, least) // the directory by another path
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	require.Equal(t, 3, count(), "all are open")
	require.NoError(t, first.Write([]int64{7}, [][]byte{{1}}, nil))

	require.NoError(t, process.Process.Kill())
	_ = process.Wait()
	require.Equal(t, 3, count(), "nobody has removed the folder of the killed process")
	grace = time.Hour
	third, err := open(directory, least)
	require.NoError(t, err)
	require.Equal(t, 4, count(), "it may be one that is just being opened")
	require.NoError(t, third.Close())
	grace = 0
	third, err = open(directory, least)
	require.NoError(t, err)
	require.Equal(t, 3, count())
	require.NoError(t, third.Close())
	require.Equal(t, 2, count())
	record, err := first.Get(7)
	require.NoError(t, err)
	require.Equal(t, []byte{1}, record)
}
