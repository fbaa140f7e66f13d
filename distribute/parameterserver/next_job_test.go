package parameterserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/kernels/ir"
)

// endWithoutWorker runs a job whose second worker never comes: its servers stay for a moment, to tell it.
func endWithoutWorker(t *testing.T, run func(task *cluster.Task, program func(context.Context, parameters.Job) error) error) (servers chan error) {
	t.Helper()
	servers, worker := make(chan error, 1), make(chan error, 1)
	go func() { servers <- run(&cluster.Task{Type: "ps"}, nil) }()
	go func() {
		worker <- run(&cluster.Task{Type: "worker"}, func(ctx context.Context, j parameters.Job) error {
			j.Register("f", func(context.Context, *parameters.Closure) (parameters.Outcome, error) {
				return parameters.Outcome{}, nil
			})
			return j.Over(ctx)
		})
	}()
	require.NoError(t, run(nil, func(ctx context.Context, j parameters.Job) error {
		p, err := j.Schedule(ctx, "f", nil, 0)
		if err != nil {
			return err
		}
		if _, err := p.Fetch(ctx); err != nil {
			return err
		}
		return j.SetNote(ctx, "end", []byte("of the old job"))
	}))
	require.NoError(t, <-worker)
	return servers
}

// taskRunner returns what runs the program of a task, nil for the coordinator, of a job of two workers and a server.
func taskRunner(t *testing.T, deadline, timeout time.Duration) func(task *cluster.Task, program func(ctx context.Context, j parameters.Job) error) error {
	spec := clustertest.Jobs(t, map[string]int{"worker": 2, "ps": 1})
	return func(task *cluster.Task, program func(ctx context.Context, j parameters.Job) error) error {
		return parameterserver.Run(t.Context(), parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task},
			Deadline: deadline, ServerTimeout: timeout, JoinTimeout: 20 * time.Second}, program)
	}
}

// TestWorkerOfTheNextJob: a worker that is started while the servers of an ended job of the same name tell its end
// belongs to the next job, whose server comes a little later: it finds that job's variables and notes, runs its
// closures, and hears of its end alone. The old server goes as soon as the new one needs its port.
func TestWorkerOfTheNextJob(t *testing.T) {
	for name, program := range map[string]func(ctx context.Context, j parameters.Job) error{
		"asks": func(ctx context.Context, j parameters.Job) error {
			for { // until the coordinator of the next job has come
				why, err := j.Note(ctx, "end")
				if err != nil || string(why) == "of the new job" {
					return err
				}
				assert.Empty(t, why)
			}
		},
		"finds": func(ctx context.Context, j parameters.Job) error {
			_, err := j.Find(ctx, "v")
			return err
		},
		"waits": func(ctx context.Context, j parameters.Job) error {
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := taskRunner(t, 500*time.Millisecond, 20*time.Second)
			old := endWithoutWorker(t, run)
			clock := fairclock.Start()
			defer clock.Stop()
			worker := make(chan error, 1)
			go func() {
				worker <- run(&cluster.Task{Type: "worker", Index: 1}, func(ctx context.Context, j parameters.Job) error {
					ran := make(chan struct{}, 1)
					j.Register("f", func(context.Context, *parameters.Closure) (parameters.Outcome, error) {
						ran <- struct{}{}
						return parameters.Outcome{}, nil
					})
					if err := program(ctx, j); err != nil {
						t.Errorf("the worker's program: %v", err)
						return err
					}
					if err := j.Over(ctx); err != nil {
						return err
					}
					assert.Len(t, ran, 1, "of the next job")
					return nil
				})
			}()
			time.Sleep(300 * time.Millisecond)
			require.Empty(t, worker)
			server := make(chan error, 1)
			go func() { server <- run(&cluster.Task{Type: "ps"}, nil) }()
			require.NoError(t, <-old)
			require.Less(t, clock.Elapsed(), 1500*time.Millisecond, "the old server keeps the port")
			require.NoError(t, run(nil, func(ctx context.Context, j parameters.Job) error {
				if _, _, err := j.Create(ctx, parameters.Spec{Name: "v", Shape: ir.Shape{4}}); err != nil {
					return err
				}
				if err := j.SetNote(ctx, "end", []byte("of the new job")); err != nil {
					return err
				}
				p, err := j.Schedule(ctx, "f", nil, 1)
				if err != nil {
					return err
				}
				_, err = p.Fetch(ctx)
				return err
			}))
			require.NoError(t, <-worker)
			require.NoError(t, <-server)
		})
	}
}

// TestCoordinatorDismissesTheLastJob: a coordinator that comes while the servers of an ended job stay lets them go, and
// waits for new ones.
func TestCoordinatorDismissesTheLastJob(t *testing.T) {
	run := taskRunner(t, 500*time.Millisecond, 20*time.Second)
	old := endWithoutWorker(t, run)
	clock := fairclock.Start()
	defer clock.Stop()
	coordinator := make(chan error, 1)
	go func() { coordinator <- run(nil, func(context.Context, parameters.Job) error { return nil }) }()
	require.NoError(t, <-old)
	require.Less(t, clock.Elapsed(), 1500*time.Millisecond)
	require.NoError(t, run(&cluster.Task{Type: "ps"}, nil))
	require.NoError(t, <-coordinator)
}
