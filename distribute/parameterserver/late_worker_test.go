package parameterserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestLateWorkerAfterFailover: a worker that comes after the end of a job in which the first server was lost, replaced
// by another one and came back is told so at once, although the first server has no notes then.
func TestLateWorkerAfterFailover(t *testing.T) {
	c := newCluster(t, 2, 2, func(o *parameterserver.Options) {
		replicated(o)
		o.Deadline, o.ServerTimeout, o.JoinTimeout = time.Second, 30*time.Second, 20*time.Second
	})
	j := c.coordinate()
	_, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{40, 1 << 4}})
	require.NoError(t, err)
	c.doubled()
	require.NoError(t, c.servers[0].Close())
	require.NoError(t, j.SetNote(t.Context(), "x", []byte("y"))) // the other one has taken over
	c.startServer(0)
	c.doubled()
	require.NoError(t, j.SetNote(t.Context(), "end", []byte("why")))
	require.NoError(t, c.workers[1].Close())
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, j.Close())

	late, err := parameterserver.Join(t.Context(), c.options(&cluster.Task{Type: "worker", Index: 1}))
	require.NoError(t, err)
	defer func() { require.NoError(t, late.Close()) }()
	began := time.Now()
	_, err = late.Note(t.Context(), "end")
	require.ErrorIs(t, err, parameters.ErrOver)
	require.Less(t, time.Since(began), 10*time.Second)
}

// TestLateWorkerWithLittlePatience: a worker that has no time to doubt an end, since servers may be silent for less
// than that, is told it all the same.
func TestLateWorkerWithLittlePatience(t *testing.T) {
	run := taskRunner(t, 300*time.Millisecond, 600*time.Millisecond)
	server, worker := make(chan error, 1), make(chan error, 1)
	go func() { server <- run(&cluster.Task{Type: "ps"}, nil) }()
	go func() {
		worker <- run(&cluster.Task{Type: "worker"}, func(ctx context.Context, j parameters.Job) error { return j.Over(ctx) })
	}()
	require.NoError(t, run(nil, func(ctx context.Context, j parameters.Job) error { return j.SetNote(ctx, "end", []byte("why")) }))
	require.NoError(t, <-worker)
	err := run(&cluster.Task{Type: "worker", Index: 1}, func(ctx context.Context, j parameters.Job) error {
		why, err := j.Note(ctx, "end")
		assert.Equal(t, "why", string(why))
		return err
	})
	require.NoError(t, err)
	require.NoError(t, <-server)
}
