//go:build unix

package collective

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/ports"
)

// These tests run workers as processes: this test binary, started again with TF_CONFIG set. A worker "trains": in step
// s each worker brings s, and the mean is added to its state. So after step s the state is s(s+1)/2 whoever took part,
// unless a step was lost or applied twice.

const (
	roleVariable = "COLLECTIVE_TEST_ROLE"
	stopFlag     = 1
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "train":
		os.Exit(exitCode(train()))
	case "bench":
		os.Exit(exitCode(benchWorker()))
	}
	os.Exit(m.Run())
}

func exitCode(err error) int {
	if err != nil {
		fmt.Println("fatal", err)
		return 1
	}
	return 0
}

type trainer struct {
	group *Group
	step  uint64
	state []float64
	ready bool
}

func train() error {
	spec, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err != nil {
		return err
	}
	least, err := strconv.Atoi(os.Getenv("COLLECTIVE_TEST_MIN"))
	if err != nil {
		return err
	}
	deadline, err := time.ParseDuration(os.Getenv("COLLECTIVE_TEST_DEADLINE"))
	if err != nil {
		return err
	}
	var stopping atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() { <-signals; stopping.Store(true) }()
	var security *Security
	if secret := os.Getenv("COLLECTIVE_TEST_SECRET"); secret != "" {
		security = &Security{Secret: []byte(secret)}
	}
	t := &trainer{state: make([]float64, 3000)}
	t.group, err = Join(context.Background(), Options{Cluster: spec, Task: task, MinMembers: least, Deadline: deadline, Patience: time.Second,
		JoinTimeout: 30 * time.Second, Security: security, NoSharedMemory: os.Getenv("COLLECTIVE_TEST_STREAM") != ""})
	if err != nil {
		return err
	}
	defer func() { _ = t.group.Close() }()
	err = t.synchronize()
	for {
		stop := false
		if err == nil {
			stop, err = t.one(stopping.Load())
		}
		if stop {
			fmt.Printf("done %d %v\n", t.step, t.state[len(t.state)-1])
			return nil
		}
		var lost *MemberError
		var expelled *ExpelledError
		switch {
		case err == nil:
		case errors.As(err, &lost) || errors.As(err, &expelled):
			fmt.Println("error", err)
			if err = t.regroup(); err == nil {
				err = t.synchronize()
			}
		default:
			return err
		}
	}
}

func (t *trainer) regroup() error {
	return t.group.Regroup(context.Background(), Terms{HasState: t.ready, Step: t.step})
}

// synchronize gives the state to those who do not have it.
func (t *trainer) synchronize() error {
	v := t.group.View()
	if len(v.Behind) > 0 {
		if err := t.group.Broadcast(context.Background(), v.Source, []Tensor{Of(t.state)}); err != nil {
			return err
		}
		t.step = v.Step
	}
	t.ready = true
	fmt.Printf("group %d %d %d\n", v.Generation, len(v.Members), t.step)
	return nil
}

func (t *trainer) one(stopping bool) (stop bool, err error) {
	gradient := make([]float64, len(t.state))
	for i := range gradient {
		gradient[i] = float64(t.step + 1)
	}
	if err := t.group.AllReduce(context.Background(), Mean, []Tensor{Of(gradient)}); err != nil {
		return false, err
	}
	for i, x := range gradient {
		t.state[i] += x
	}
	t.step++
	fmt.Printf("step %d %v\n", t.step, t.state[len(t.state)-1])
	var flags uint32
	if stopping {
		flags = stopFlag
	}
	b, err := t.group.StepEnd(context.Background(), t.step, flags)
	switch {
	case err != nil:
		return false, err
	case b.Flags&stopFlag != 0:
		return true, nil
	case b.Pending:
		if err := t.regroup(); err != nil {
			return false, err
		}
		return false, t.synchronize()
	}
	time.Sleep(5 * time.Millisecond)
	return false, nil
}

// worker is a process as its parent sees it.
type worker struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	lines []string
	step  uint64    // the last one completed
	when  time.Time // when that was heard
	size  int       // of its last group
	ended chan struct{}
}

type jobs struct {
	t       *testing.T
	spec    *cluster.Spec
	env     []string
	run     func(i int, c *exec.Cmd) error // starts the process of worker i; nil: here
	workers []*worker
}

func startJob(t *testing.T, n int, env ...string) *jobs {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	// Processes listen themselves, so the ports must be free and known before.
	addresses, err := ports.Free(n)
	require.NoError(t, err)
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
	require.NoError(t, err)
	j := &jobs{t: t, spec: spec, env: env}
	j.begin(n)
	return j
}

// begin starts all workers; they are stopped when the test ends.
func (j *jobs) begin(n int) {
	t := j.t
	j.workers, j.env = make([]*worker, n), append([]string{roleVariable + "=train"}, j.env...)
	for i := range n {
		j.start(i)
	}
	t.Cleanup(func() {
		for _, w := range j.workers {
			_ = w.cmd.Process.Kill() // it may have ended
			<-w.ended
		}
		if t.Failed() {
			for i, w := range j.workers {
				t.Logf("worker %d: %s", i, strings.Join(w.lines[max(0, len(w.lines)-8):], "\n\t"))
			}
		}
	})
}

func (j *jobs) start(i int) {
	text, err := cluster.FormatTFConfig(j.spec, cluster.Task{Type: "worker", Index: i})
	require.NoError(j.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), j.env...), "TF_CONFIG="+text)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(j.t, err)
	w := &worker{cmd: cmd, ended: make(chan struct{})}
	if j.run != nil {
		require.NoError(j.t, j.run(i, cmd))
	} else {
		require.NoError(j.t, cmd.Start())
	}
	j.workers[i] = w
	go func() {
		defer close(w.ended)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			w.note(scanner.Text())
		}
		_ = cmd.Wait() // how it ended is seen in its output
	}()
}

func (w *worker) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	var generation, size, step uint64
	if n, _ := fmt.Sscanf(line, "step %d", &step); n == 1 {
		w.step, w.when = step, time.Now()
	}
	if n, _ := fmt.Sscanf(line, "group %d %d %d", &generation, &size, &step); n == 3 {
		w.size = int(size)
	}
}

func (w *worker) progress() (step uint64, when time.Time, size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.step, w.when, w.size
}

// errorAfter returns the first error among the lines after the given one.
func (w *worker) errorAfter(line int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.lines[line:] {
		if strings.HasPrefix(text, "error ") {
			return text
		}
	}
	return ""
}

func (w *worker) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lines)
}

// await waits until the given workers have trained another three steps in a group of the given size, and returns how
// long it took.
func (j *jobs) await(limit time.Duration, size int, which ...int) time.Duration {
	j.t.Helper()
	began, clock := time.Now(), fairclock.Start()
	defer clock.Stop()
	base := map[int]uint64{}
	for _, i := range which {
		base[i], _, _ = j.workers[i].progress()
	}
	for {
		ready := true
		for _, i := range which {
			step, _, now := j.workers[i].progress()
			if now != size {
				base[i] = step
			}
			ready = ready && now == size && step >= base[i]+3
		}
		if ready {
			return time.Since(began)
		}
		if clock.Elapsed() > limit {
			j.t.Fatalf("workers %v do not train as %d after %v", which, size, limit)
		}
		time.Sleep(time.Millisecond)
	}
}

// finish stops the job by a signal to one worker and checks that all stop after the same step with the right state.
func (j *jobs) finish(which int) {
	require.NoError(j.t, j.workers[which].cmd.Process.Signal(syscall.SIGTERM))
	last := ""
	for i, w := range j.workers {
		select {
		case <-w.ended:
		case <-time.After(20 * time.Second):
			j.t.Fatalf("worker %d does not stop", i)
		}
		line := w.lines[len(w.lines)-1]
		var step, state float64
		_, err := fmt.Sscanf(line, "done %g %g", &step, &state)
		require.NoError(j.t, err, "worker %d: %s", i, line)
		require.Equal(j.t, step*(step+1)/2, state, "worker %d: a step was lost or applied twice", i)
		require.True(j.t, last == "" || last == line, "%s, %s", last, line)
		last = line
	}
}

func TestProcesses(t *testing.T) {
	deadline := 1500 * time.Millisecond
	for _, mode := range []string{"", "1"} {
		t.Run("stream="+mode, func(t *testing.T) {
			t.Parallel()
			j := startJob(t, 3, "COLLECTIVE_TEST_MIN=2", "COLLECTIVE_TEST_DEADLINE="+deadline.String(), "COLLECTIVE_TEST_STREAM="+mode)
			all := []int{0, 1, 2}
			t.Logf("start: %v", j.await(10*time.Second, 3, all...))
			for _, victim := range []int{1, 0} {
				rest := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i == victim })
				lines := []int{j.workers[rest[0]].count(), j.workers[rest[1]].count()}
				require.NoError(t, j.workers[victim].cmd.Process.Kill())
				t.Logf("killed %d: %v", victim, j.await(5*time.Second, 2, rest...))
				first, second := j.workers[rest[0]].errorAfter(lines[0]), j.workers[rest[1]].errorAfter(lines[1])
				require.Contains(t, first, fmt.Sprintf("lost worker:%d (", victim))
				require.Equal(t, first, second, "all survivors get the same error")
				j.start(victim)
				t.Logf("restarted %d: %v", victim, j.await(10*time.Second, 3, all...))
			}
			lines := j.workers[0].count()
			require.NoError(t, j.workers[2].cmd.Process.Signal(syscall.SIGSTOP))
			frozen := j.await(deadline+5*time.Second, 2, 0, 1)
			t.Logf("frozen 2: %v", frozen)
			require.Contains(t, j.workers[0].errorAfter(lines), "lost worker:2 (")
			require.Contains(t, j.workers[0].errorAfter(lines), "silent")
			lines = j.workers[2].count()
			require.NoError(t, j.workers[2].cmd.Process.Signal(syscall.SIGCONT))
			t.Logf("thawed 2: %v", j.await(10*time.Second, 3, all...))
			require.Contains(t, j.workers[2].errorAfter(lines), "this worker, worker:2")
			j.finish(1)
		})
	}
}

// TestChaos plays random faults: 5, or as many as COLLECTIVE_CHAOS says; 200 take some minutes.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	faults := 5
	if text := os.Getenv("COLLECTIVE_CHAOS"); text != "" {
		var err error
		faults, err = strconv.Atoi(text)
		require.NoError(t, err, "COLLECTIVE_CHAOS is a number of faults")
	}
	deadline := time.Second
	j := startJob(t, 3, "COLLECTIVE_TEST_MIN=2", "COLLECTIVE_TEST_DEADLINE="+deadline.String(), "COLLECTIVE_TEST_STREAM="+os.Getenv("COLLECTIVE_TEST_STREAM"))
	all := []int{0, 1, 2}
	j.await(10*time.Second, 3, all...)
	rng := rand.New(rand.NewPCG(1, 2))
	times := map[string][]time.Duration{}
	for range faults {
		victim := rng.IntN(3)
		rest := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i == victim })
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		if rng.IntN(3) > 0 {
			require.NoError(t, j.workers[victim].cmd.Process.Kill())
			times["killed"] = append(times["killed"], j.await(20*time.Second, 2, rest...))
			j.start(victim)
		} else {
			require.NoError(t, j.workers[victim].cmd.Process.Signal(syscall.SIGSTOP))
			times["frozen"] = append(times["frozen"], j.await(20*time.Second, 2, rest...))
			require.NoError(t, j.workers[victim].cmd.Process.Signal(syscall.SIGCONT))
		}
		times["taken back"] = append(times["taken back"], j.await(20*time.Second, 3, all...))
	}
	j.finish(rng.IntN(3))
	for name, list := range times {
		slices.Sort(list)
		t.Logf("%s: %d times, median %v, longest %v", name, len(list), list[len(list)/2], list[len(list)-1])
	}
}
