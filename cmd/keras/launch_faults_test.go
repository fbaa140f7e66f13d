//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// faultyRun is keras launch with keras fit, of which the test signals workers.
type faultyRun struct {
	t      *testing.T
	dir    string
	ids    string
	result chan int
	out    lockedText
}

type lockedText struct {
	mu chan struct{}
	b  bytes.Buffer
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu <- struct{}{}
	defer func() { <-l.mu }()
	return l.b.Write(b)
}

func (l *lockedText) String() string {
	l.mu <- struct{}{}
	defer func() { <-l.mu }()
	return l.b.String()
}

// startFaulty begins to train the small model on workers.
func startFaulty(t *testing.T, ctx context.Context, dir, name string, launch, fit []string) *faultyRun {
	t.Helper()
	r := &faultyRun{t: t, dir: dir, ids: t.TempDir(), result: make(chan int, 1), out: lockedText{mu: make(chan struct{}, 1)}}
	t.Setenv(role, "keras")
	t.Setenv(processes, r.ids)
	path := func(name string) string { return filepath.Join(dir, name) }
	args := append([]string{"launch"}, launch...)
	args = append(args, "--", os.Args[0], "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3", "--epochs", "300",
		"--verbose", "0", "--strategy", "multiworker", "--output", path(name+".keras"), "--history", path(name+".json"))
	args = append(args, fit...)
	go func() { r.result <- run(ctx, args, &r.out, &r.out) }()
	return r
}

// await waits until a file is there.
func (r *faultyRun) await(path string) {
	r.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		require.True(r.t, time.Now().Before(end), "%s never appears: %s", path, r.out.String())
	}
}

func (r *faultyRun) signal(worker int, s syscall.Signal) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.ids, strconv.Itoa(worker)))
	require.NoError(r.t, err)
	id, err := strconv.Atoi(string(text))
	require.NoError(r.t, err)
	require.NoError(r.t, syscall.Kill(id, s))
}

func (r *faultyRun) end() int {
	r.t.Helper()
	select {
	case status := <-r.result:
		return status
	case <-time.After(5 * time.Minute):
		r.t.Fatalf("the run hangs: %s", r.out.String())
		return 0
	}
}

// sameModels compares stored models bit by bit, with the state of the optimizer.
func sameModels(t *testing.T, want, got string) {
	t.Helper()
	a, b := storedArrays(t, want), storedArrays(t, got)
	require.Len(t, b, len(a))
	for name := range a {
		require.Equal(t, a[name], b[name], name)
	}
}

// wholeRun trains the small model without faults, as "whole", and returns the folder of all files with the path of one
// in it.
func wholeRun(t *testing.T) (dir string, path func(name string) string) {
	t.Helper()
	dir = smallModel(t)
	path = func(name string) string { return filepath.Join(dir, name) }
	whole := startFaulty(t, t.Context(), dir, "whole", []string{"-n", "2"}, []string{"--backup", path("backup0")})
	require.Zero(t, whole.end(), whole.out.String())
	return dir, path
}

// TestFitOutlivesWorkers kills a worker and the chief: the others keep the model, those that come back get it, and the
// result is that of an unbroken run, bit for bit.
func TestFitOutlivesWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir, path := wholeRun(t)
	r := startFaulty(t, t.Context(), dir, "faulty", []string{"-n", "2", "--restarts", "3"}, []string{"--backup", path("backup")})
	r.await(path("backup/latest.weights.npz"))
	r.signal(1, syscall.SIGKILL)
	r.again(1)
	r.signal(0, syscall.SIGKILL)
	require.Zero(t, r.end(), r.out.String())
	for i := range 2 {
		require.Contains(t, r.out.String(), fmt.Sprintf("worker %d ended: signal: killed; starting it again (1 of 3)", i))
	}
	sameModels(t, path("whole.keras"), path("faulty.keras"))
	var want, got map[string][]float64
	readJSON(t, path("whole.json"), &want)
	readJSON(t, path("faulty.json"), &got)
	assert.Equal(t, want, got, "the worker that came back has the whole history")
}

// TestFitReplacesAFrozenWorker: one that is stopped for good, in the middle of training or soon after its start, is
// ended and replaced, and the job ends with the numbers of an unbroken one, long before the others would give it up.
func TestFitReplacesAFrozenWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	if !passesFiles || runtime.GOOS != "linux" {
		t.Skip("needs a system that shows which processes are stopped")
	}
	dir, path := wholeRun(t)
	r := startFaulty(t, t.Context(), dir, "frozen", []string{"-n", "2", "--restarts", "3"}, []string{"--backup", path("backup")})
	r.await(path("backup/latest.weights.npz"))
	r.signal(1, syscall.SIGKILL)
	r.again(1)
	began := time.Now()
	r.signal(1, syscall.SIGSTOP) // for good
	require.Zero(t, r.end(), r.out.String())
	t.Log("ended", time.Since(began), "after the worker was stopped")
	require.Contains(t, r.out.String(), "worker 1 does not answer, as worker 0 says; ending it")
	require.Contains(t, r.out.String(), "starting it again (2 of 3)")
	sameModels(t, path("whole.keras"), path("frozen.keras"))
}

// TestFitLeavesAFrozenWorkerBehind: without a restart for it the others go on, where they may, and do not wait for it
// in the end.
func TestFitLeavesAFrozenWorkerBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	if !passesFiles || runtime.GOOS != "linux" {
		t.Skip("needs a system that shows which processes are stopped")
	}
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	r := startFaulty(t, t.Context(), dir, "behind", []string{"-n", "2", "--min-workers", "1"}, []string{"--elastic", "1:2", "--backup", path("backup")})
	r.await(path("backup/latest.weights.npz"))
	r.signal(1, syscall.SIGSTOP)
	require.Zero(t, r.end(), r.out.String())
	require.NotEmpty(t, storedArrays(t, path("behind.keras")))
}

// again waits for the next life of a worker.
func (r *faultyRun) again(worker int) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(r.out.String(), fmt.Sprintf("worker %d ended", worker)) == 0; time.Sleep(time.Millisecond) {
		require.True(r.t, time.Now().Before(end), r.out.String())
	}
	time.Sleep(300 * time.Millisecond) // so that it is well under way, most times; nothing depends on it
}

// TestFitElastic: without restarts the job continues with who is left.
func TestFitElastic(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	r := startFaulty(t, t.Context(), dir, "elastic", []string{"-n", "3", "--min-workers", "1"}, []string{"--elastic", "1:3", "--backup", path("backup")})
	r.await(path("backup/latest.weights.npz"))
	r.signal(0, syscall.SIGKILL)
	require.Zero(t, r.end(), r.out.String())
	var history map[string][]float64
	readJSON(t, path("elastic.json"), &history)
	require.Len(t, history["loss"], 300)
	require.NotEmpty(t, storedArrays(t, path("elastic.keras")))
}

// TestFitStopped: SIGTERM to one worker stops all after the same step, with status 75, and the same command goes on
// there.
func TestFitStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir, path := wholeRun(t)
	r := startFaulty(t, t.Context(), dir, "stopped", []string{"-n", "2"}, []string{"--backup", path("backup")})
	r.await(path("backup/latest.weights.npz"))
	r.signal(1, syscall.SIGTERM)
	require.Equal(t, statusStopped, r.end(), r.out.String())
	require.Contains(t, r.out.String(), "the same command goes on there")
	r.await(path("stopped.keras"))

	// The same through the launcher.
	before, err := os.Stat(path("backup/latest.weights.npz"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r = startFaulty(t, ctx, dir, "stopped", []string{"-n", "2"}, []string{"--backup", path("backup")})
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if now, err := os.Stat(path("backup/latest.weights.npz")); err == nil && now.ModTime() != before.ModTime() {
			break
		}
		require.True(t, time.Now().Before(end), r.out.String())
	}
	cancel()
	require.Equal(t, statusStopped, r.end(), r.out.String())

	r = startFaulty(t, t.Context(), dir, "stopped", []string{"-n", "2"}, []string{"--backup", path("backup")})
	require.Zero(t, r.end(), r.out.String())
	sameModels(t, path("whole.keras"), path("stopped.keras"))
}

// TestFitStoppedAlone: so it is without workers.
func TestFitStoppedAlone(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	fit := func(ctx context.Context, out, backup string) int {
		var text bytes.Buffer
		return run(ctx, []string{"fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3", "--epochs", "200",
			"--verbose", "0", "--output", path(out + ".keras"), "--backup", path(backup)}, &text, &text)
	}
	require.Zero(t, fit(t.Context(), "whole", "backup0"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(path("backup/latest.weights.npz")); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	require.Equal(t, statusStopped, fit(ctx, "stopped", "backup"))
	require.Zero(t, fit(t.Context(), "stopped", "backup"))
	sameModels(t, path("whole.keras"), path("stopped.keras"))
}

// TestFitCorruptBackup: a backup that cannot be read is reported, and the one before it is used.
func TestFitCorruptBackup(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	fit := func(ctx context.Context, out, backup string) (int, string) {
		var text bytes.Buffer
		status := run(ctx, []string{"fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3", "--epochs", "100",
			"--verbose", "0", "--output", path(out + ".keras"), "--backup", path(backup)}, &text, &text)
		return status, text.String()
	}
	status, text := fit(t.Context(), "whole", "backup0")
	require.Zero(t, status, text)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(path("backup/latest.weights.npz.bkp")); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	status, text = fit(ctx, "corrupt", "backup")
	require.Equal(t, statusStopped, status, text)
	content, err := os.ReadFile(path("backup/latest.weights.npz"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path("backup/latest.weights.npz"), content[:len(content)/2], 0o600))
	status, text = fit(t.Context(), "corrupt", "backup")
	require.Zero(t, status, text)
	require.Contains(t, text, "The latest backup cannot be read")
	require.Contains(t, text, "going on with the one before it")
	sameModels(t, path("whole.keras"), path("corrupt.keras"))

	require.NoError(t, os.MkdirAll(path("backup"), 0o777))
	for _, name := range []string{"", ".bkp"} {
		require.NoError(t, os.WriteFile(path("backup/latest.weights.npz"+name), []byte("nonsense"), 0o600))
	}
	status, text = fit(t.Context(), "corrupt", "backup")
	require.Equal(t, 1, status, "where neither can be read, that is an error")
	require.Contains(t, text, "latest.weights.npz")
}

func TestElasticFlag(t *testing.T) {
	for text, want := range map[string]string{"2:4": "{2 4 0s}", "2": "{2 0 0s}", "2:": "{2 0 0s}", ":3": "{0 3 0s}", "3:3": "{3 3 0s}"} {
		e, err := parseElastic(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, fmt.Sprint(*e), text)
	}
	for _, text := range []string{"4:2", "x", "0:2", "1:2:3", "-1:2"} {
		_, err := parseElastic(text)
		assert.Error(t, err, text)
	}
}
