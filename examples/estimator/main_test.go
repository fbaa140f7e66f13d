package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras/estimator"
)

// The test program plays a process of the job when this variable names the folder of the checkpoints.
const dirVariable = "GOKERAS_TEST_MODEL_DIR"

// strategyVariable is the strategy of such a process.
const strategyVariable = "GOKERAS_TEST_STRATEGY"

const testSteps = 60

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		if err := run(context.Background(), os.Stdout, flags{model: "mnist", strategy: os.Getenv(strategyVariable), dir: dir, steps: testSteps, batch: 32, every: 10, rate: 0.1}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The regressor learns, and prints the same under every strategy: the numbers of TensorFlow's Estimator.
func TestRun(t *testing.T) {
	for _, name := range []string{"default", "one", "mirrored", "central"} {
		var b bytes.Buffer
		require.NoError(t, run(context.Background(), &b, flags{model: "linear", strategy: name}))
		_, results, found := strings.Cut(b.String(), "\n")
		require.True(t, found)
		require.Equal(t, strings.Join([]string{
			"average_loss     0.000000", "global_step      10.000000", "label/mean       1.000000", "loss             0.000000",
			"prediction/mean  1.000000", "prediction       1.000000", "",
		}, "\n"), results, name)
	}
	require.ErrorContains(t, run(context.Background(), &bytes.Buffer{}, flags{model: "linear", strategy: "none"}), "there is no strategy \"none\"")
	require.ErrorContains(t, run(context.Background(), &bytes.Buffer{}, flags{model: "none", strategy: "one"}), "there is no model \"none\"")
}

// process is one of a job that is started by hand.
type process struct {
	cmd   *exec.Cmd
	ended chan error
	mu    sync.Mutex
	out   bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func start(t *testing.T, strategy string, spec *cluster.Spec, task cluster.Task, dir string) *process {
	t.Helper()
	config, err := cluster.FormatTFConfig(spec, task)
	require.NoError(t, err)
	p := &process{cmd: exec.Command(os.Args[0]), ended: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), cluster.TFConfigVariable+"="+config, dirVariable+"="+dir, strategyVariable+"="+strategy, parameterserver.DirectoryVariable+"="+dir, "GOMAXPROCS=1")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() { p.ended <- p.cmd.Wait() }()
	return p
}

func (p *process) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.ended:
		require.NoError(t, err, p.text())
	case <-time.After(3 * time.Minute):
		t.Fatalf("the process hangs: %s", p.text())
	}
}

// latest is the step of the latest checkpoint.
func latest(t *testing.T, dir string) int {
	t.Helper()
	path, err := estimator.LatestCheckpoint(dir)
	require.NoError(t, err)
	_, number, _ := strings.Cut(filepath.Base(path), "-")
	step, _ := strconv.Atoi(number) // none is 0
	return step
}

// Two workers train the digits and a third process evaluates what the chief saves. A worker is killed in the middle and
// started again: all steps are done, the chief alone has written, and the model has learned.
func TestWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for victim := range 2 {
		t.Run(fmt.Sprint("without ", victim), func(t *testing.T) {
			dir := t.TempDir()
			spec := clustertest.Workers(t, 2)
			workers := make([]*process, 2)
			for i := range workers {
				workers[i] = start(t, "multiworker", spec, cluster.Task{Type: cluster.Worker, Index: i}, dir)
			}
			evaluator := start(t, "multiworker", spec, cluster.Task{Type: cluster.Evaluator}, dir)
			for end := time.Now().Add(2 * time.Minute); latest(t, dir) < 20; time.Sleep(5 * time.Millisecond) {
				require.True(t, time.Now().Before(end), "no checkpoint: %s\n%s", workers[0].text(), workers[1].text())
			}
			require.NoError(t, workers[victim].cmd.Process.Kill())
			var exit *exec.ExitError
			require.True(t, errors.As(<-workers[victim].ended, &exit), "it was at work")
			require.Less(t, latest(t, dir), testSteps)
			workers[victim] = start(t, "multiworker", spec, cluster.Task{Type: cluster.Worker, Index: victim}, dir)
			for _, p := range append(workers, evaluator) {
				p.end(t)
			}
			require.Equal(t, testSteps, latest(t, dir))
			require.Contains(t, workers[1-victim].text(), "group 2 formed", "the one that was left has not begun anew")
			found := regexp.MustCompile(`(?m)^accuracy +([0-9.]+)$`).FindStringSubmatch(evaluator.text())
			require.NotNil(t, found, evaluator.text())
			accuracy, err := strconv.ParseFloat(found[1], 64)
			require.NoError(t, err)
			require.Greater(t, accuracy, 0.7)
			require.NotContains(t, workers[0].text()+workers[1].text(), "accuracy", "workers evaluate nothing")
			for _, pattern := range []string{"events*", "eval/events*"} {
				files, err := filepath.Glob(filepath.Join(dir, pattern))
				require.NoError(t, err)
				require.NotEmpty(t, files, pattern)
			}
		})
	}
}

// TestParameterServers trains the digits with variables on two servers, and a process beside them evaluates what the
// coordinator saves. A worker is killed in the middle and comes back, then the coordinator: all steps are made, once
// each, and the model has learned.
func TestParameterServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := t.TempDir()
	jobs := map[string]int{"chief": 1, "worker": 2, "ps": 2}
	spec := clustertest.Jobs(t, jobs)
	tasks := map[cluster.Task]*process{}
	begin := func(task cluster.Task) { tasks[task] = start(t, "parameterserver", spec, task, dir) }
	for job, n := range jobs {
		for i := range n {
			begin(cluster.Task{Type: job, Index: i})
		}
	}
	evaluator := cluster.Task{Type: cluster.Evaluator}
	begin(evaluator)
	text := func() string {
		var b strings.Builder
		for task, p := range tasks {
			fmt.Fprintf(&b, "%v:\n%s\n", task, p.text())
		}
		return b.String()
	}
	reach := func(step int) {
		clock := fairclock.Start()
		defer clock.Stop()
		for latest(t, dir) < step {
			require.Less(t, clock.Elapsed(), 4*time.Minute, "no checkpoint of step %d: %s", step, text())
			time.Sleep(5 * time.Millisecond)
		}
	}
	for at, victim := range []cluster.Task{{Type: cluster.Worker}, {Type: cluster.Chief}} {
		reach(10 * (at + 1))
		require.NoError(t, tasks[victim].cmd.Process.Kill())
		var exit *exec.ExitError
		require.ErrorAs(t, <-tasks[victim].ended, &exit, "it was at work")
		require.Less(t, latest(t, dir), testSteps)
		begin(victim)
	}
	reach(testSteps)
	for _, p := range tasks {
		p.end(t)
	}
	require.Equal(t, testSteps, latest(t, dir))
	found := regexp.MustCompile(`(?m)^accuracy +([0-9.]+)$`).FindStringSubmatch(tasks[evaluator].text())
	require.NotNil(t, found, text())
	accuracy, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	require.Greater(t, accuracy, 0.3, "gradients of old values learn more slowly")
	require.Contains(t, tasks[evaluator].text(), fmt.Sprintf("global_step      %d.", testSteps))
	for _, pattern := range []string{"events*", "eval/events*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
	}
}
