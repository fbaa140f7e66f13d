//go:build unix

package main

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// launchFaults is the number of faults of TestLaunchChaos.
var launchFaults = flag.Int("faults", 0, "faults in TestLaunchChaos; 0: it is not run")

// launchSchedule is the seed of these faults.
var launchSchedule = flag.Uint64("schedule", 1, "seed of the faults of TestLaunchChaos")

// newerBackup waits for a backup that is newer than a time, and returns when it saw it.
func (r *faultyRun) newerBackup(path string, than time.Time, limit time.Duration) (time.Time, bool) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(than) {
			return time.Now(), true
		}
	}
	return time.Time{}, false
}

// live returns the process of a worker once there is one that is not the given one.
func (r *faultyRun) live(worker, not int) int {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(r.ids, strconv.Itoa(worker)))
		if id, _ := strconv.Atoi(string(text)); err == nil && id > 0 && id != not && syscall.Kill(id, 0) == nil {
			return id
		}
	}
	r.t.Fatalf("worker %d is not started again: %s", worker, r.out.String())
	return 0
}

// TestLaunchChaos: keras launch with workers that are killed, frozen for good, frozen soon after their start, and lost
// two at once. It replaces them; no wait is longer than the deadline and two seconds, beside the time in which workers
// start; and the model is that of an unbroken run.
func TestLaunchChaos(t *testing.T) {
	if *launchFaults == 0 || runtime.GOOS != "linux" {
		t.Skip("on Linux, with -faults: see make chaos")
	}
	const deadline = 5 * time.Second // that of keras fit
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	epochs := []string{"--epochs", strconv.Itoa(500 + 150**launchFaults)}
	whole := startFaulty(t, t.Context(), dir, "whole", []string{"-n", "3"}, append(epochs, "--backup", path("backup0")))
	require.Equal(t, 0, <-whole.result, whole.out.String())

	r := startFaulty(t, t.Context(), dir, "faulty", []string{"-n", "3", "--restarts", "10000"}, append(epochs, "--backup", path("backup")))
	backup := path("backup/latest.weights.npz")
	r.await(backup)
	rng := rand.New(rand.NewPCG(*launchSchedule, 2))
	ended := func() bool { return len(r.result) > 0 }
	stop := func(id int, s syscall.Signal) { _ = syscall.Kill(id, s) } // it may have ended
	played := 0
	for ; played < *launchFaults && !ended(); played++ {
		i := rng.IntN(3)
		other := (i + 1 + rng.IntN(2)) % 3
		id, second := r.live(i, 0), r.live(other, 0)
		began, kind, allowed := time.Now(), played%4, 2*time.Second
		switch kind {
		case 0:
			stop(id, syscall.SIGKILL)
		case 1:
			stop(id, syscall.SIGSTOP) // for good
			allowed += deadline
		case 2:
			stop(id, syscall.SIGKILL)
			stop(second, syscall.SIGKILL)
		case 3:
			stop(id, syscall.SIGKILL)
			id = r.live(i, id)
			time.Sleep(time.Duration(40+rng.IntN(30)) * time.Millisecond)
			stop(id, syscall.SIGSTOP)
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			stop(second, syscall.SIGKILL)
			began = time.Now()
			allowed += deadline
		}
		at, ok := r.newerBackup(backup, began.Add(200*time.Millisecond), time.Minute)
		if !ok && ended() {
			break
		}
		require.True(t, ok, "fault %d of kind %d: the job hangs: %s", played, kind, r.out.String())
		took := at.Sub(began)
		t.Logf("fault %d of kind %d: the next epoch after %v", played, kind, took.Round(time.Millisecond))
		if took > allowed+2*time.Second { // two more for the start of processes
			t.Errorf("fault %d of kind %d: a wait of %v", played, kind, took)
		}
		time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
	}
	t.Logf("%d faults", played)
	require.Equal(t, 0, <-r.result, r.out.String())
	sameModels(t, path("whole.keras"), path("faulty.keras"))
}
