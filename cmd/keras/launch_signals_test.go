//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// process is the number of a worker's process.
func (r *faultyRun) process(worker int) int {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.ids, strconv.Itoa(worker)))
	require.NoError(r.t, err)
	id, err := strconv.Atoi(string(text))
	require.NoError(r.t, err)
	return id
}

// trainedAndLost trains on some workers, with a backup, until one is killed that does not come back: the others wait
// for it.
func trainedAndLost(t *testing.T, dir, name string, workers, victim int) *faultyRun {
	t.Helper()
	backup := filepath.Join(dir, "backup-"+name)
	r := startFaulty(t, t.Context(), dir, name, []string{"-n", strconv.Itoa(workers), "--min-workers", "1"}, []string{"--backup", backup})
	r.await(filepath.Join(backup, "latest.weights.npz"))
	r.signal(victim, syscall.SIGKILL)
	time.Sleep(400 * time.Millisecond) // the others notice
	return r
}

// TestFitStoppedWhileWaiting: a signal that comes while the others wait for a lost worker, the chief or another one,
// stops all of them at once, with status 75; the first of them writes what was reached, and the same command goes on
// there to the result of an unbroken run.
func TestFitStoppedWhileWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	whole := startFaulty(t, t.Context(), dir, "whole", []string{"-n", "3"}, []string{"--backup", path("backup0")})
	require.Zero(t, whole.end(), whole.out.String())
	for _, c := range []struct{ victim, signalled int }{{1, 2}, {0, 1}, {0, 2}} {
		name := fmt.Sprint("lost", c.victim, "stopped", c.signalled)
		t.Run(name, func(t *testing.T) {
			r := trainedAndLost(t, dir, name, 3, c.victim)
			clock := fairclock.Start()
			defer clock.Stop()
			r.signal(c.signalled, syscall.SIGTERM)
			require.Equal(t, statusStopped, r.end(), r.out.String())
			require.Less(t, clock.Elapsed(), 4*time.Second)
			require.Equal(t, 3, strings.Count(r.out.String(), "the same command goes on there"), r.out.String())
			require.NotEmpty(t, storedArrays(t, path(name+".keras")))

			r = startFaulty(t, t.Context(), dir, name, []string{"-n", "3"}, []string{"--backup", path("backup-" + name)})
			require.Zero(t, r.end(), r.out.String())
			sameModels(t, path("whole.keras"), path(name+".keras"))
			var want, got map[string][]float64
			readJSON(t, path("whole.json"), &want)
			readJSON(t, path(name+".json"), &got)
			require.Equal(t, want["loss"], got["loss"], "the epochs before the stop, from the backup, and those after it")
		})
	}
}

// TestFitSecondSignal: while the first signal is being handled, which a frozen worker makes last, a second one ends the
// process at once. The backup is as it was, and the same command goes on there.
func TestFitSecondSignal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	whole := startFaulty(t, t.Context(), dir, "whole", []string{"-n", "2"}, []string{"--backup", path("backup0")})
	require.Zero(t, whole.end(), whole.out.String())

	r := startFaulty(t, t.Context(), dir, "twice", []string{"-n", "2", "--grace", "1s"}, []string{"--backup", path("backup")})
	r.await(path("backup/latest.weights.npz"))
	r.signal(1, syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond) // the chief has come to a sum that the other does not
	first := r.process(0)
	r.signal(0, syscall.SIGTERM)
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, syscall.Kill(first, 0), "it is being handled")
	clock := fairclock.Start()
	defer clock.Stop()
	r.signal(0, syscall.SIGTERM)
	require.Equal(t, 1, r.end(), r.out.String())
	require.Less(t, clock.Elapsed(), 3*time.Second, "the grace of the launcher for the frozen one included")
	require.Contains(t, r.out.String(), "worker 0: signal: terminated")
	require.NoFileExists(t, path("twice.keras"))

	r = startFaulty(t, t.Context(), dir, "twice", []string{"-n", "2"}, []string{"--backup", path("backup")})
	require.Zero(t, r.end(), r.out.String())
	sameModels(t, path("whole.keras"), path("twice.keras"))
}

// TestLaunchPassesSecondSignalOn: the launcher as a process of its own passes both signals on and ends when its workers
// have.
func TestLaunchPassesSecondSignalOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	ids := t.TempDir()
	backup := filepath.Join(dir, "backup")
	both := filepath.Join(dir, "both.npz")
	r := &faultyRun{t: t, ids: ids, out: lockedText{mu: make(chan struct{}, 1)}}
	c := exec.Command(os.Args[0], "launch", "-n", "2", "--", os.Args[0], "fit", filepath.Join(dir, "model.keras"), "--x", both, "--y", both, "--batch-size", "3",
		"--epochs", "30000", "--verbose", "0", "--strategy", "multiworker", "--backup", backup, "--output", filepath.Join(dir, "out.keras"))
	c.Env = append(os.Environ(), role+"=keras", processes+"="+ids)
	c.Stdout, c.Stderr = &r.out, &r.out
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended
	r.await(filepath.Join(backup, "latest.weights.npz"))
	r.signal(1, syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, syscall.Kill(r.process(0), 0), "it waits for the frozen one")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	clock := fairclock.Start()
	defer clock.Stop()
	for ; syscall.Kill(r.process(0), 0) == nil; time.Sleep(5 * time.Millisecond) {
		require.Less(t, clock.Elapsed(), 3*time.Second, "the second signal does not end it: %s", r.out.String())
	}
	r.signal(1, syscall.SIGCONT)
	continued := clock.Elapsed()
	require.Error(t, c.Wait())
	require.Less(t, clock.Elapsed()-continued, 3*time.Second)
	require.Equal(t, 1, c.ProcessState.ExitCode(), r.out.String())
	require.Contains(t, r.out.String(), "signal: terminated")
}

// awaitListener waits until a process listens on the address.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	clock := fairclock.Start()
	defer clock.Stop()
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			require.NoError(t, connection.Close())
			return
		}
		require.Less(t, clock.Elapsed(), time.Minute, "nothing listens: %v", err)
		time.Sleep(5 * time.Millisecond)
	}
}

// TestFitStoppedBeforeItBegan: a worker that waits for the others ends at a signal, with status 75 where the job has a
// backup.
func TestFitStoppedBeforeItBegan(t *testing.T) {
	dir := smallModel(t)
	spec, err := localCluster(2, 0)
	require.NoError(t, err)
	config, err := cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: 0})
	require.NoError(t, err)
	address, err := spec.Address(cluster.Task{Type: cluster.Worker, Index: 0})
	require.NoError(t, err)
	both := filepath.Join(dir, "both.npz")
	for want, fit := range map[int][]string{1: nil, statusStopped: {"--backup", filepath.Join(dir, "backup")}} {
		c := exec.Command(os.Args[0], append([]string{"fit", filepath.Join(dir, "model.keras"), "--x", both, "--y", both, "--strategy", "multiworker",
			"--output", filepath.Join(dir, "out.keras")}, fit...)...)
		c.Env = append(os.Environ(), role+"=keras", cluster.TFConfigVariable+"="+config)
		var out strings.Builder
		c.Stderr = &out
		require.NoError(t, c.Start())
		awaitListener(t, address)
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		require.Error(t, c.Wait())
		require.Equal(t, want, c.ProcessState.ExitCode(), out.String())
		require.Contains(t, out.String(), "interrupted while waiting for the other workers; nothing was written")
	}
}

// TestFitLateWorker: a worker that comes back when the others have finished ends soon, and well: one that hears them
// leave, and one that is told so by the launcher.
func TestFitLateWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	spec, err := localCluster(2, 0)
	require.NoError(t, err)
	config, err := cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: 1})
	require.NoError(t, err)
	both := filepath.Join(dir, "both.npz")
	late := func(output string) (int, string) {
		c := exec.Command(os.Args[0], "fit", filepath.Join(dir, "model.keras"), "--x", both, "--y", both, "--strategy", "multiworker",
			"--backup", filepath.Join(dir, "backup"), "--output", output)
		c.Env = append(os.Environ(), role+"=keras", cluster.TFConfigVariable+"="+config, supervisor.FinishedVariable+"=1")
		var out strings.Builder
		c.Stderr = &out
		_ = c.Run() // its status is looked at
		return c.ProcessState.ExitCode(), out.String()
	}
	clock := fairclock.Start()
	defer clock.Stop()
	status, text := late(filepath.Join(dir, "model.keras"))
	require.Zero(t, status, text)
	require.Contains(t, text, "the others have finished without this worker, and written "+filepath.Join(dir, "model.keras"))
	require.Less(t, clock.Elapsed(), 10*time.Second)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "backup"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "backup/latest.weights.npz"), nil, 0o600))
	status, text = late(filepath.Join(dir, "model.keras"))
	require.Equal(t, statusStopped, status, text)
}
