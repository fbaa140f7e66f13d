package parameterserver_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
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
	began := time.Now()
	require.NoError(t, <-over)
	require.ErrorIs(t, <-asked, parameters.ErrOver)
	require.NoError(t, parameterserver.Run(t.Context(), options(1), func(ctx context.Context, j parameters.Job) error {
		_, err := j.Find(ctx, "w")
		return err
	}))
	require.Less(t, time.Since(began), 5*time.Second)
}
