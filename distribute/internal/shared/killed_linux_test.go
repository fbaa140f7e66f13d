package shared

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKilledOwner: memory whose owner is killed stays with those who have mapped it, nobody else can open it any more,
// and nothing is left behind under a name.
func TestKilledOwner(t *testing.T) {
	if os.Getenv("GOKERAS_TEST_SHARED_OWNER") != "" {
		m, err := New(1 << 20)
		require.NoError(t, err)
		m.Bytes[1<<20-1] = 7
		fmt.Println("note: " + m.Note())
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	owner := exec.Command(program, "-test.run=^TestKilledOwner$")
	owner.Env = append(os.Environ(), "GOKERAS_TEST_SHARED_OWNER=1")
	in, err := owner.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	var note string
	for lines := bufio.NewScanner(out); note == "" && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "note: "); ok {
			note = text
		}
	}
	m, err := Open(note)
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	require.NoError(t, err)
	defer m.Close()
	require.EqualValues(t, 7, m.Bytes[1<<20-1])
	for i := range m.Bytes { // as a server that is in the midst of it
		m.Bytes[i]++
	}
	_, err = Open(note)
	require.Error(t, err)
}
