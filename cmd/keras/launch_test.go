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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// The test program plays a worker when this variable says how.
const role = "GOKERAS_TEST_WORKER"

func TestMain(m *testing.M) {
	switch how := os.Getenv(role); how {
	case "":
	case "keras":
		tellProcess()
		os.Exit(runUntilSignal(os.Args[1:]))
	case "servers":
		os.Exit(workOnServers(os.Args[1]))
	case "evaluator":
		os.Exit(trainBesideEvaluator(os.Args[1]))
	default:
		os.Exit(work(how))
	}
	os.Exit(m.Run())
}

// processes names the folder in which workers of these tests leave their process numbers.
const processes = "GOKERAS_TEST_PROCESSES"

// tellProcess leaves the number of this process for the test.
func tellProcess() {
	dir := os.Getenv(processes)
	if dir == "" {
		return
	}
	if _, task, err := cluster.Resolve(&cluster.TFConfig{}); err == nil {
		_ = os.WriteFile(filepath.Join(dir, strconv.Itoa(task.Index)), []byte(strconv.Itoa(os.Getpid())), 0o600) // a test that needs it fails
	}
}

// work is what a worker of these tests does; os.Args holds a folder for notes.
func work(how string) int {
	resolver := &cluster.TFConfig{}
	_, task, err := cluster.Resolve(resolver)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	note := filepath.Join(os.Args[1], fmt.Sprint("started", task.Index))
	_, err = os.Stat(note)
	first := err != nil
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		return 3
	}
	fmt.Printf("hello from %v on %d\n", task.Index, runtime.GOMAXPROCS(0))
	switch {
	case how == "fail once" && first && task.Index == 1, how == "fail" && task.Index == 1:
		fmt.Fprint(os.Stderr, "out of memory")
		return 7
	case how == "wait", how == "fail" && task.Index == 0:
		time.Sleep(time.Minute)
	}
	return 0
}

func launch(t *testing.T, ctx context.Context, how string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Setenv(role, how)
	var out, errors bytes.Buffer
	args = append(append([]string{"launch"}, args...), "--", os.Args[0], t.TempDir())
	status = run(ctx, args, &out, &errors)
	return status, out.String(), errors.String()
}

func TestLaunch(t *testing.T) {
	t.Setenv(processorsVariable, "")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	status, stdout, stderr := launch(t, t.Context(), "work", "-n", "3")
	require.Zero(t, status, stderr)
	for i := range 3 {
		assert.Contains(t, stdout, fmt.Sprintf("[worker %d] hello from %d on 2\n", i, i))
	}
	_, stdout, _ = launch(t, t.Context(), "work", "-n", "7")
	assert.Contains(t, stdout, "hello from 6 on 1\n")
	t.Setenv(processorsVariable, "5")
	_, stdout, _ = launch(t, t.Context(), "work", "-n", "3")
	assert.Contains(t, stdout, "hello from 2 on 5\n")
}

func TestLaunchStartsAgain(t *testing.T) {
	status, stdout, stderr := launch(t, t.Context(), "fail once", "-n", "2", "--restarts", "1")
	require.Zero(t, status, stderr)
	assert.Equal(t, 2, strings.Count(stdout, "[worker 1] hello"))
	assert.Contains(t, stderr, "[worker 1] out of memory\n")
	assert.Contains(t, stderr, "[launch] worker 1 ended: exit status 7; starting it again (1 of 1)")
}

// TestLaunchEndsTheOthers: a job that lost a worker for good does not hang.
func TestLaunchEndsTheOthers(t *testing.T) {
	begin := time.Now()
	status, _, stderr := launch(t, t.Context(), "fail", "-n", "2")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "keras: launch: worker 1: exit status 7; 1 of 2 workers are left, 2 are needed\n")
	assert.Less(t, time.Since(begin), 20*time.Second)
}

func TestLaunchPassesSignalsOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	status, _, stderr := launch(t, ctx, "wait", "-n", "2")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "interrupt")
}

// TestFitOnWorkers: two processes train like one.
func TestFitOnWorkers(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	fit := func(out string) []string {
		return []string{"fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3", "--epochs", "3", "--no-shuffle",
			"--verbose", "0", "--output", path(out + ".keras"), "--history", path(out + ".json")}
	}
	status, _, stderr := execute(t, fit("one")...)
	require.Zero(t, status, stderr)
	t.Setenv(role, "keras")
	args := append([]string{"launch", "-n", "2", "--", os.Args[0]}, append(fit("two"), "--strategy", "multiworker", "--backup", path("backup"))...)
	status, _, stderr = execute(t, args...)
	require.Zero(t, status, stderr)
	want := storedArrays(t, path("one.keras"))
	for name, a := range storedArrays(t, path("two.keras")) {
		assert.InDeltaSlice(t, want[name].values, a.values, 1e-5, name)
	}
	var one, two map[string][]float64
	readJSON(t, path("one.json"), &one)
	readJSON(t, path("two.json"), &two)
	assert.InDeltaSlice(t, one["loss"], two["loss"], 1e-5)
}

func TestLaunchMistakes(t *testing.T) {
	for words, args := range map[string][]string{
		"no program given":          {"launch"},
		"at least one worker":       {"launch", "-n", "0", "--", "true"},
		"executable file not found": {"launch", "--", "no-such-program"},
	} {
		status, _, stderr := execute(t, args...)
		assert.NotZero(t, status)
		assert.Contains(t, stderr, words)
	}
}

// TestLaunchRefused: a typo in the command of the workers is said by each once, however often they may be started
// again.
func TestLaunchRefused(t *testing.T) {
	if !passesFiles {
		t.Skip("on this system no pipe can be given to a worker, which could say so")
	}
	t.Setenv(role, "keras")
	for range 5 { // what a worker says last is heard before its end
		status, _, stderr := execute(t, "launch", "-n", "2", "--restarts", "3", "--min-workers", "1", "--", os.Args[0], "fit", "model.keras", "--epoch", "3")
		assert.Equal(t, 1, status)
		assert.Contains(t, stderr, "unknown flag: --epoch")
		assert.LessOrEqual(t, strings.Count(stderr, "unknown flag: --epoch"), 2)
		assert.Contains(t, stderr, "exit status 2; it refused its command line, so it is not started again")
	}
}
