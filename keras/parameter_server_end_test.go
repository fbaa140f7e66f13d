package keras_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// jobWithoutRows is a job whose server of tables disappears at some point: the worker waits for rows.
type jobWithoutRows struct {
	parameters.Job
	from, waiting chan struct{}
	once          sync.Once
}

func (j *jobWithoutRows) Pull(ctx context.Context, reads ...*parameters.Read) error {
	select {
	case <-j.from:
	default:
		return j.Job.Pull(ctx, reads...)
	}
	if j.Coordinates() || !slices.ContainsFunc(reads, func(r *parameters.Read) bool { return r.IDs != nil }) {
		return j.Job.Pull(ctx, reads...)
	}
	j.once.Do(func() { close(j.waiting) })
	<-ctx.Done()
	return ctx.Err()
}

// TestFitOnServersEndsWithContext: a worker whose step waits for a server ends with Fit's context, not after the time
// in which the server might come back. So does a coordinator whose servers are gone.
func TestFitOnServersEndsWithContext(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for timeouts: not with -short")
	}
	serving, stopServing := context.WithCancel(t.Context())
	working, stopWorking := context.WithCancel(t.Context())
	training, stopTraining := context.WithCancel(t.Context())
	defer stopServing()
	defer stopWorking()
	defer stopTraining()
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	begun, waiting := make(chan struct{}), make(chan struct{})
	run := func(ctx context.Context, task *cluster.Task) chan error {
		ended := make(chan error, 1)
		go func() {
			o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Minute, ServerTimeout: 20 * time.Minute}
			if task != nil && task.Type == cluster.ParameterServer {
				ended <- parameterserver.Serve(ctx, o)
				return
			}
			ended <- parameterserver.Run(ctx, o, func(ctx context.Context, job parameters.Job) error {
				s, err := distribute.NewParameterServerStrategyOver(&jobWithoutRows{Job: job, from: begun, waiting: waiting}, nil)
				if err != nil {
					return err
				}
				_, err = fitServerModel(ctx, serverModel(t, "embedding", s), &optimizers.SGD{LearningRate: 0.01}, keras.Epochs(1<<20), keras.Callbacks(&callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error {
					if epoch == 0 {
						close(begun)
					}
					return nil
				}}))
				return err
			})
		}()
		return ended
	}
	server := run(serving, &cluster.Task{Type: "ps"})
	worker, coordinator := run(working, &cluster.Task{Type: "worker"}), run(training, nil)
	select {
	case <-begun:
	case err := <-coordinator:
		t.Fatal(err)
	}
	<-waiting
	clock := fairclock.Start()
	defer clock.Stop()
	stopWorking()
	require.ErrorIs(t, fairclock.Receive(t, clock, time.Minute, worker, "the end of the worker"), context.Canceled)
	stopServing()
	require.ErrorIs(t, fairclock.Receive(t, clock, time.Minute, server, "the end of the server"), context.Canceled)
	stopTraining()
	require.ErrorIs(t, fairclock.Receive(t, clock, time.Minute, coordinator, "the end of the coordinator"), context.Canceled)
}
