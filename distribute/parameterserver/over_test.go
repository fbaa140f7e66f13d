package parameterserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// TestWorkerAfterTheEnd: a worker that comes when the servers have ended waits for nobody where the program that
// started it says that the job is over: neither for the coordinator nor for an answer of a server. Run takes it as a
// good end.
func TestWorkerAfterTheEnd(t *testing.T) {
	note := filepath.Join(t.TempDir(), "over")
	t.Setenv(supervisor.OverVariable, note)
	spec := clustertest.Jobs(t, map[string]int{"worker": 2, "ps": 1})
	options := func(worker int) parameterserver.Options {
		return parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: "worker", Index: worker}}, Deadline: 100 * time.Millisecond}
	}
	j, err := parameterserver.Join(t.Context(), options(0))
	require.NoError(t, err)
	defer j.Close()
	over, asked := make(chan error, 1), make(chan error, 1)
	go func() { over <- j.Over(t.Context()) }()
	go func() {
		_, err := j.Note(t.Context(), "end")
		asked <- err
	}()
	time.Sleep(300 * time.Millisecond)
	require.Empty(t, over, "nobody has said so yet")
	require.Empty(t, asked)
	require.NoError(t, os.WriteFile(note, nil, 0o600))
	clock := fairclock.Start()
	defer clock.Stop()
	require.NoError(t, <-over)
	require.ErrorIs(t, <-asked, parameters.ErrOver)
	require.NoError(t, parameterserver.Run(t.Context(), options(1), func(ctx context.Context, j parameters.Job) error {
		_, err := j.Find(ctx, "w")
		return err
	}))
	require.Less(t, clock.Elapsed(), 5*time.Second)
}

// TestCoordinatorTellsTheEnd: who started the processes learns that the coordinator has ended the job, whatever its own
// end is.
func TestCoordinatorTellsTheEnd(t *testing.T) {
	note := filepath.Join(t.TempDir(), "over")
	t.Setenv(supervisor.OverVariable, note)
	j := newCluster(t, 1, 1, nil).coordinate()
	require.NoFileExists(t, note)
	require.NoError(t, j.Close())
	require.FileExists(t, note)
}

// TestWorkerAfterTheServersWereTold: where some worker was not told of the end, servers tell those who come, whether
// they look for variables or wait for a coordinator, with one copy of everything and with two, and show them what the
// coordinator noted. Otherwise they end at once.
func TestWorkerAfterTheServersWereTold(t *testing.T) {
	for name, replicas := range map[string]int{"one copy": 1, "two copies": 2} {
		for _, absent := range []int{0, 1} {
			t.Run(fmt.Sprint(name, ", ", absent, " absent"), func(t *testing.T) {
				t.Parallel()
				spec := clustertest.Jobs(t, map[string]int{"worker": 1 + absent, "ps": 2})
				run := func(task *cluster.Task, program func(ctx context.Context, j parameters.Job) error) error {
					o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, Replicas: replicas, Deadline: 500 * time.Millisecond, ServerTimeout: 20 * time.Second, JoinTimeout: 20 * time.Second}
					return parameterserver.Run(t.Context(), o, program)
				}
				ends := make(chan error, 3)
				for i := range 2 {
					go func() { ends <- run(&cluster.Task{Type: "ps", Index: i}, nil) }()
				}
				answers := func(ctx context.Context, j parameters.Job) error {
					j.Register("f", func(context.Context, *parameters.Closure) (parameters.Outcome, error) {
						return parameters.Outcome{}, nil
					})
					return j.Over(ctx)
				}
				waits := func(ctx context.Context, j parameters.Job) error { return j.Over(ctx) }
				go func() { ends <- run(&cluster.Task{Type: "worker"}, answers) }()
				require.NoError(t, run(nil, func(ctx context.Context, j parameters.Job) error {
					p, err := j.Schedule(ctx, "f", nil, -1)
					if err != nil {
						return err
					}
					if _, err = p.Fetch(ctx); err != nil {
						return err
					}
					return j.SetNote(ctx, "end", []byte("why"))
				}))
				clock := fairclock.Start()
				defer clock.Stop()
				if absent > 0 {
					finds := func(ctx context.Context, j parameters.Job) error {
						why, err := j.Note(ctx, "end")
						require.NoError(t, err)
						require.Equal(t, "why", string(why))
						_, err = j.Find(ctx, "v")
						require.ErrorIs(t, err, parameters.ErrOver)
						return err
					}
					for _, program := range []func(ctx context.Context, j parameters.Job) error{finds, waits} {
						require.NoError(t, run(&cluster.Task{Type: "worker", Index: 1}, program))
					}
					require.Less(t, clock.Elapsed(), 3*time.Second)
				}
				require.NoError(t, errors.Join(<-ends, <-ends, <-ends))
				if absent == 0 {
					require.Less(t, clock.Elapsed(), 1900*time.Millisecond)
				}
			})
		}
	}
}
