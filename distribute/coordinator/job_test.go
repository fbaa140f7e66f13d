package coordinator_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
)

// testJob is a job inside this process. Every task has its own strategy and runs the same program.
type testJob struct {
	t       testing.TB
	spec    *cluster.Spec
	change  func(*parameterserver.Options)
	program func(ctx context.Context, c *coordinator.ClusterCoordinator) error

	dirs    []string
	servers []*parameterserver.Server
	gates   map[cluster.Task]*gate
	workers []*distribute.ParameterServerStrategy

	mu    sync.Mutex
	heard []string
}

// startJob starts servers and workers; register is what workers and coordinator do first.
func startJob(t testing.TB, workers, servers int, change func(*parameterserver.Options), register func(ctx context.Context, c *coordinator.ClusterCoordinator) error) *testJob {
	t.Helper()
	spec := clustertest.Jobs(t, map[string]int{"worker": workers, "ps": servers})
	j := &testJob{t: t, spec: spec, change: change, program: register, servers: make([]*parameterserver.Server, servers), workers: make([]*distribute.ParameterServerStrategy, workers), gates: map[cluster.Task]*gate{}}
	for i := range servers {
		j.dirs = append(j.dirs, t.TempDir())
		j.startServer(i)
	}
	for i := range workers {
		j.startWorker(i)
	}
	return j
}

func (j *testJob) options(task *cluster.Task) parameterserver.Options {
	o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: j.spec, Task: task}, VariablePartitioner: partitioners.FixedShards{Shards: 2}, Deadline: time.Second,
		ServerTimeout: 10 * time.Second, JoinTimeout: 10 * time.Second, Observe: func(text string) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.heard = append(j.heard, text)
		}}
	if task != nil {
		address, err := j.spec.Address(*task)
		require.NoError(j.t, err)
		l, err := net.Listen("tcp", address)
		require.NoError(j.t, err)
		g := &gate{Listener: l}
		j.gates[*task], o.Listener = g, g
	}
	if j.change != nil {
		j.change(&o)
	}
	return o
}

func (j *testJob) startServer(i int) {
	o := j.options(&cluster.Task{Type: "ps", Index: i})
	o.Directory = j.dirs[i]
	s, err := parameterserver.NewServer(o)
	require.NoError(j.t, err)
	j.servers[i] = s
	go func() { _ = s.Serve(context.Background()) }()
	j.t.Cleanup(func() { s.Close() })
}

func (j *testJob) startWorker(i int) {
	s, err := parameterserver.NewStrategy(j.t.Context(), j.options(&cluster.Task{Type: "worker", Index: i}))
	require.NoError(j.t, err)
	j.workers[i] = s
	j.t.Cleanup(func() { s.Close() })
	c, err := coordinator.New(s)
	require.NoError(j.t, err)
	if j.program != nil {
		require.NoError(j.t, j.program(j.t.Context(), c))
	}
}

// coordinate makes the coordinator.
func (j *testJob) coordinate() *coordinator.ClusterCoordinator {
	j.t.Helper()
	s, err := parameterserver.NewStrategy(j.t.Context(), j.options(nil))
	require.NoError(j.t, err)
	j.t.Cleanup(func() { s.Close() })
	c, err := coordinator.New(s)
	require.NoError(j.t, err)
	if j.program != nil {
		require.NoError(j.t, j.program(j.t.Context(), c))
	}
	return c
}

// told reports whether somebody was told a text that begins so.
func (j *testJob) told(has func(string) bool) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, text := range j.heard {
		if has(text) {
			return true
		}
	}
	return false
}

// gate is a listener whose connections can be frozen: nothing is read or written then, as with a stopped process.
type gate struct {
	net.Listener
	frozen sync.RWMutex
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatedConn{c, g}, nil
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.gate.frozen.RLock()
	defer c.gate.frozen.RUnlock()
	return n, err
}

func (c *gatedConn) Write(b []byte) (int, error) {
	c.gate.frozen.RLock()
	defer c.gate.frozen.RUnlock()
	return c.Conn.Write(b)
}
