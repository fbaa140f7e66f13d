//go:build unix

package multiworker_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/tfvectors"
)

// recordedFaults are the faults that TensorFlow's job did not outlive, or outlived with a loss.
var recordedFaults = map[string]func(t *testing.T, c *tfvectors.Case){
	"worker_killed":         func(t *testing.T, c *tfvectors.Case) { ends(t, c, -1, syscall.SIGKILL) },
	"chief_killed":          func(t *testing.T, c *tfvectors.Case) { ends(t, c, 0, syscall.SIGKILL) },
	"worker_stopped":        func(t *testing.T, c *tfvectors.Case) { ends(t, c, -1, syscall.SIGSTOP) },
	"chief_stopped":         func(t *testing.T, c *tfvectors.Case) { ends(t, c, 0, syscall.SIGSTOP) },
	"restart_only_the_dead": func(t *testing.T, c *tfvectors.Case) { goesOn(t, c, 1) },
	"backup_epoch":          func(t *testing.T, c *tfvectors.Case) { goesOn(t, c, 1) },
	"backup_10":             func(t *testing.T, c *tfvectors.Case) { goesOn(t, c, 0) },
	"intruder":              intruder,
}

// TestRecordedFaults lets happen what was recorded of TensorFlow: survivors learn who is lost, and a job whose lost
// worker is started again goes on without losing a step, where TensorFlow's loses some or waits.
func TestRecordedFaults(t *testing.T) {
	n := 0
	for _, c := range tfvectors.Load(t, "conformance/testdata/tf_multi_worker.json.gz") {
		rest, fault := strings.CutPrefix(c.ID, "mwms.fault.")
		if !fault {
			continue
		}
		n++
		name, _, _ := strings.Cut(rest, ".")
		t.Run(c.ID, func(t *testing.T) {
			require.NotNil(t, recordedFaults[name], "nothing runs this case")
			recordedFaults[name](t, &c)
		})
	}
	require.Equal(t, 9, n)
}

// workersOf is how many workers a case has: its id ends so.
func workersOf(t *testing.T, c *tfvectors.Case) (n int) {
	t.Helper()
	_, err := fmt.Sscanf(c.ID[strings.LastIndex(c.ID, ".")+1:], "%dworkers", &n)
	require.NoError(t, err)
	return n
}

// ends lets a worker be lost for good, the last one with -1: the others end with an error that names it.
func ends(t *testing.T, c *tfvectors.Case, victim int, signal syscall.Signal) {
	n := workersOf(t, c)
	if victim < 0 {
		victim += n
	}
	j := start(t, n, "endless", "")
	for i := range n {
		j.until(i, "trained")
	}
	clock := fairclock.Start()
	defer clock.Stop()
	require.NoError(t, j.workers[victim].Process.Signal(signal))
	for i := range n {
		if i == victim {
			continue
		}
		var e ending
		j.read(i, &e)
		require.Equal(t, "member", e.Kind, e.Text)
		require.Equal(t, []string{fmt.Sprintf("worker %d", victim)}, trimmed(e.Lost), e.Text)
	}
	require.Less(t, clock.Elapsed(), deadline+4*time.Second)
}

// goesOn kills a worker of an elastic job and starts it alone again: every step is made once.
func goesOn(t *testing.T, c *tfvectors.Case, victim int) {
	require.Equal(t, 2, workersOf(t, c))
	dir := t.TempDir()
	j := start(t, 2, "forty epochs", dir)
	for i := range 2 {
		j.until(i, "trained")
	}
	require.NoError(t, j.workers[victim].Process.Kill())
	<-j.done[victim]
	require.NoError(t, os.WriteFile(filepath.Join(dir, goOn), nil, 0o644))
	j.again(victim)
	endings := all[ending](j)
	survivor := endings[1-victim]
	require.Empty(t, survivor.Kind, survivor.Text)
	require.Equal(t, 40*5, survivor.Steps, "no step is lost, none is made twice")
	require.Empty(t, endings[victim].Kind, endings[victim].Text)
	require.Less(t, endings[victim].Steps, 40*5, "it joins where the other one is")
}

// intruder lets strangers connect to a worker, silent ones and such as send what they like: training does not notice.
func intruder(t *testing.T, c *tfvectors.Case) {
	n := workersOf(t, c)
	dir := t.TempDir()
	j := start(t, n, "forty epochs", dir)
	j.until(1, "trained")
	for _, text := range []string{"", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\x00\x04\x08", 1000), strings.Repeat("\xff", 1<<16)} {
		conn, err := net.Dial("tcp", j.addresses[1])
		require.NoError(t, err)
		defer conn.Close()
		_, _ = conn.Write([]byte(text)) // the worker may close the connection meanwhile
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, goOn), nil, 0o644))
	for i, e := range all[ending](j) {
		require.Empty(t, e.Kind, e.Text)
		require.Equal(t, 40*5, e.Steps, "worker %d", i)
	}
}
