package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
)

// The test program plays a task of the job when this variable is set.
const role = "GOKERAS_TEST_TASK"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	f := flags{users: 300, items: 100, examples: 20000, epochs: 4, steps: 2000, batch: 64, output: os.Args[1]}
	if os.Getenv(role) != "1" {
		f = chaosFlags(os.Getenv(role), os.Args[1])
	}
	if err := run(context.Background(), f, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type task struct {
	cluster.Task
	command *exec.Cmd
	out     output
}

// output is what a task says. It may be read while the task speaks.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs a task as a process, with variables of servers in dir.
func start(t *testing.T, spec *cluster.Spec, name cluster.Task, dir, kind string) *task {
	t.Helper()
	config, err := cluster.FormatTFConfig(spec, name)
	require.NoError(t, err)
	p := &task{Task: name, command: exec.Command(os.Args[0], filepath.Join(dir, "model.keras"))}
	p.command.Env = append(os.Environ(), role+"="+kind, cluster.TFConfigVariable+"="+config, parameterserver.DirectoryVariable+"="+dir, "GOMAXPROCS=1")
	p.command.Stdout, p.command.Stderr = &p.out, &p.out
	require.NoError(t, p.command.Start())
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	return p
}

// TestKilledTasks trains with real processes. A worker, a server and the coordinator are killed on the way and started
// again; the job ends as if nothing had happened.
func TestKilledTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("six processes for several seconds; run without -short")
	}
	spec := clustertest.Jobs(t, map[string]int{"chief": 1, "ps": 2, "worker": 2})
	dir := t.TempDir()
	tasks := map[string]*task{}
	for _, name := range []cluster.Task{{Type: "ps"}, {Type: "ps", Index: 1}, {Type: "worker"}, {Type: "worker", Index: 1}, {Type: "chief"}} {
		tasks[name.String()] = start(t, spec, name, dir, "1")
	}
	for _, name := range []string{"worker:0", "ps:1", "chief:0", "ps:0"} {
		time.Sleep(500 * time.Millisecond)
		victim := tasks[name]
		if err := victim.command.Process.Kill(); err != nil {
			t.Logf("%s has ended already", name)
			continue
		}
		_ = victim.command.Wait() // it was killed
		tasks[name] = start(t, spec, victim.Task, dir, "1")
	}
	for name, p := range tasks {
		ended := make(chan error, 1)
		go func() { ended <- p.command.Wait() }()
		select {
		case err := <-ended:
			require.NoError(t, err, "%s: %s", name, p.out.String())
		case <-time.After(8 * time.Minute): // a loaded machine is slow
			t.Fatalf("%s does not end: %s", name, p.out.String())
		}
	}
	out := tasks["chief:0"].out.String()
	requireEpochsToTheEnd(t, out, 4)
	require.Contains(t, out, "epoch 4: loss 0.0", out)
	require.FileExists(t, filepath.Join(dir, "model.keras"))
}

// requireEpochsToTheEnd wants the coordinator that was started last to report every epoch from the one its predecessor
// left unfinished to the last. Which one that is depends on how far a machine comes before the kill.
func requireEpochsToTheEnd(t *testing.T, out string, last int) {
	t.Helper()
	var reported []int
	for _, line := range strings.Split(out, "\n") {
		var epoch int
		if _, err := fmt.Sscanf(line, "epoch %d:", &epoch); err == nil {
			reported = append(reported, epoch)
		}
	}
	require.NotEmpty(t, reported, out)
	for i, epoch := range reported {
		require.Equal(t, last-len(reported)+1+i, epoch, "epochs %v: %s", reported, out)
	}
}
