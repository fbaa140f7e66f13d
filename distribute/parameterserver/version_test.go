package parameterserver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// TestVersions: a server, a worker or a snapshot of another version is refused at once, and the error says whose it is.
func TestVersions(t *testing.T) {
	const other = protocol.Version + 1
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	options := func(task *cluster.Task, version int) Options {
		return Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Hour, ServerTimeout: time.Hour, version: version}
	}
	serve := func(version int) *Server {
		server, err := NewServer(options(&cluster.Task{Type: "ps"}, version))
		require.NoError(t, err)
		go func() { _ = server.Serve(context.Background()) }()
		t.Cleanup(func() { server.Close() })
		return server
	}
	clock := fairclock.Start()
	defer clock.Stop()
	server := serve(other)
	_, err := Join(t.Context(), options(nil, 0))
	require.ErrorContains(t, err, fmt.Sprintf("ps:0 speaks version %d of the protocol, the caller version %d; run the same program everywhere", other, protocol.Version))
	worker, err := Join(t.Context(), options(&cluster.Task{Type: "worker"}, 0))
	require.NoError(t, err, "it speaks with servers when there is work")
	_, err = worker.Find(t.Context(), "v")
	require.ErrorContains(t, err, fmt.Sprintf("ps:0 speaks version %d", other))
	require.NoError(t, worker.Close())
	require.NoError(t, server.Close())

	serve(0)
	worker, err = Join(t.Context(), options(&cluster.Task{Type: "worker"}, other))
	require.NoError(t, err)
	defer worker.Close()
	j, err := Join(t.Context(), options(nil, 0))
	require.NoError(t, err)
	_, _ = j.Schedule(t.Context(), "x", nil, -1) // it may have been told already
	require.ErrorContains(t, j.Join(t.Context()), fmt.Sprintf("worker:0 speaks version %d of the protocol, the caller version %d", other, protocol.Version))
	_, err = j.Schedule(t.Context(), "x", nil, -1)
	require.ErrorContains(t, err, fmt.Sprintf("worker:0 speaks version %d", other))
	require.NoError(t, j.(*job).client.close())
	require.Less(t, clock.Elapsed(), 30*time.Second)

	var w protocol.Writer
	w.Uint(other)
	_, err = protocol.DecodeSnapshot(w.B, protocol.Limits{})
	require.ErrorContains(t, err, fmt.Sprintf("has version %d; this program reads ", other))
}
