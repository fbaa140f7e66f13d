//go:build linux

package pjrt_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// opener is a process that opens libtpu, says what came of it, and ends with its input.
func opener(t *testing.T, path string) string {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestOpenerOfTPU$", "-test.v")
	c.Env = append(os.Environ(), "GOKERAS_TEST_OPENS="+path, "TPU_SKIP_MDS_QUERY=1", "TPU_WORKER_HOSTNAMES=localhost", "TPU_WORKER_ID=0", "TPU_LOG_DIR=disabled", "ALLOW_MULTIPLE_LIBTPU_LOAD=0", "TMPDIR="+t.TempDir())
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "opened: "); ok {
			return text
		}
	}
	t.Fatal("the process ended without a word")
	return ""
}

// TestOpenerOfTPU is the process of opener.
func TestOpenerOfTPU(t *testing.T) {
	path := os.Getenv("GOKERAS_TEST_OPENS")
	if path == "" {
		t.Skip("is started by TestTwoProcessesAtOneTPU, as a process of its own")
	}
	err := pjrt.New("tpu", path).Open(kernels.Device{Kind: "tpu"})
	fmt.Printf("opened: %v\n", strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A second process at one TPU learns that the first one holds it.
func TestTwoProcessesAtOneTPU(t *testing.T) {
	path := libtpu(t)
	first := opener(t, path)
	require.NotContains(t, first, "another process")
	second := opener(t, path)
	require.Regexp(t, `another process \d+ \(pjrt\.test\) uses the TPU`, second)
	require.Contains(t, second, "TPU_VISIBLE_CHIPS")
}
