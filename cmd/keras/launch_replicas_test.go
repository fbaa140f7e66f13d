//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// stepsOnServers is the length of an epoch of workOnServers.
const stepsOnServers = 10

// untilTold notes the epochs, and ends training when it finds a file.
type untilTold struct {
	callbacks.Base
	dir string
}

func (u *untilTold) OnEpochEnd(epoch int, _ *callbacks.Logs) error {
	if _, err := os.Stat(filepath.Join(u.dir, "stop")); err == nil {
		u.Model().Stop()
	}
	return replaceFile(filepath.Join(u.dir, "epoch"), strconv.Itoa(epoch+1))
}

// replaceFile lets a file appear whole.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// workOnServers is a task of a job with parameter servers that trains until it is told to end. It leaves its process
// number in dir.
func workOnServers(dir string) int {
	_, task, err := cluster.Resolve(&cluster.TFConfig{})
	if err == nil {
		err = replaceFile(filepath.Join(dir, "cluster"), os.Getenv(cluster.TFConfigVariable))
	}
	if err == nil {
		err = replaceFile(filepath.Join(dir, task.String()), strconv.Itoa(os.Getpid()))
	}
	if err == nil {
		o := parameterserver.Options{Observe: func(text string) { fmt.Fprintln(os.Stderr, text) }}
		err = parameterserver.RunStrategy(context.Background(), o, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			return trainUntilTold(ctx, s, dir)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func trainUntilTold(ctx context.Context, s *distribute.ParameterServerStrategy, dir string) error {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}, &layers.Dense{Units: 1}}, keras.InputShape(2), distribute.Scope(s))
	if err != nil {
		return err
	}
	sgd := &optimizers.SGD{LearningRate: 1e-4}
	if err := m.Compile(keras.CompileConfig{Optimizer: sgd, Loss: "mse"}); err != nil {
		return err
	}
	x, y := [][]float32{{1, 2}, {3, 4}, {5, 6}, {7, 8}}, [][]float32{{1}, {2}, {3}, {4}}
	_, err = m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(2), keras.StepsPerEpoch(stepsOnServers), keras.Epochs(1<<30), keras.Verbose(0), keras.Callbacks(&untilTold{dir: dir}))
	if err != nil || !s.IsCoordinator() {
		return err
	}
	n, err := sgd.Iterations().Value()
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, "steps"), strconv.Itoa(int(n.Float64s()[0])))
}

// launchedServers is a job of keras launch --replicas 2.
type launchedServers struct {
	t     *testing.T
	dir   string
	out   lockedText
	clock *fairclock.Clock
}

// number reads one from a file; 0: there is none yet.
func (l *launchedServers) number(name string) int {
	text, _ := os.ReadFile(filepath.Join(l.dir, name))
	n, _ := strconv.Atoi(string(text))
	return n
}

func (l *launchedServers) await(what string, done func() bool) {
	l.t.Helper()
	for began := l.clock.Elapsed(); !done(); time.Sleep(5 * time.Millisecond) {
		require.Less(l.t, l.clock.Elapsed()-began, 2*time.Minute, "%s: %s", what, l.out.String())
	}
}

// onward waits for two epochs more: the second one has begun after the call.
func (l *launchedServers) onward(what string) {
	l.t.Helper()
	at := l.number("epoch")
	l.await(what, func() bool { return l.number("epoch") >= at+2 })
}

// doubled waits until each variable has two copies.
func (l *launchedServers) doubled() {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "cluster"))
	require.NoError(l.t, err)
	l.t.Setenv(cluster.TFConfigVariable, string(text))
	spec, _, err := cluster.Resolve(&cluster.TFConfig{})
	require.NoError(l.t, err)
	o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Chief}}, Replicas: 2}
	l.await("two copies", func() bool {
		copies, err := parameterserver.FindCopies(l.t.Context(), o)
		require.NoError(l.t, err)
		return !slices.ContainsFunc(copies, func(c parameterserver.Copies) bool { return !c.Complete })
	})
}

// TestLaunchReplicas: keras launch --replicas 2 keeps each variable on two servers. Both are killed, one after the
// other, and a worker and the coordinator; training continues, and no step is lost or made twice.
func TestLaunchReplicas(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("starts and kills processes: on Linux, not with -short")
	}
	l := &launchedServers{t: t, dir: t.TempDir(), out: lockedText{mu: make(chan struct{}, 1)}, clock: fairclock.Start()}
	defer l.clock.Stop()
	t.Setenv(role, "servers")
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"launch", "--ps", "2", "--workers", "2", "--replicas", "2", "--restarts", "100", "--", os.Args[0], l.dir}, &l.out, &l.out)
	}()
	l.onward("the start")
	for _, name := range []string{"ps:0", "ps:1", "worker:0", "chief:0", "ps:0"} {
		l.doubled()
		id := l.number(name)
		require.NoError(t, syscall.Kill(id, syscall.SIGKILL), "%s: %s", name, l.out.String())
		l.await(name+" is started again", func() bool { return l.number(name) != id })
		l.onward("after the end of " + name)
	}
	require.NoError(t, replaceFile(filepath.Join(l.dir, "stop"), ""))
	l.await("the end", func() bool { return len(ended) > 0 })
	require.Zero(t, <-ended, l.out.String())
	require.Equal(t, stepsOnServers*l.number("epoch"), l.number("steps"), l.out.String())
	require.Contains(t, l.out.String(), "ps:0 has a copy of group 0 again, from ps:1")
}
