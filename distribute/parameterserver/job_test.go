package parameterserver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/kernels/ir"
)

// testCluster is a job inside this process, over the loopback interface.
type testCluster struct {
	t       testing.TB
	spec    *cluster.Spec
	change  func(*parameterserver.Options)
	dirs    []string
	servers []*parameterserver.Server
	workers []parameters.Job
	mu      sync.Mutex
	heard   []string
}

func newCluster(t testing.TB, workers, servers int, change func(*parameterserver.Options)) *testCluster {
	t.Helper()
	spec := clustertest.Jobs(t, map[string]int{"worker": workers, "ps": servers})
	c := &testCluster{t: t, spec: spec, change: change, servers: make([]*parameterserver.Server, servers), workers: make([]parameters.Job, workers)}
	for i := range servers {
		c.dirs = append(c.dirs, t.TempDir())
		c.startServer(i)
	}
	for i := range workers {
		c.startWorker(i)
	}
	return c
}

func (c *testCluster) options(task *cluster.Task) parameterserver.Options {
	o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: c.spec, Task: task}, Deadline: time.Second, ServerTimeout: 10 * time.Second, JoinTimeout: 10 * time.Second,
		Observe: func(text string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.heard = append(c.heard, text)
		}}
	if c.change != nil {
		c.change(&o)
	}
	return o
}

func (c *testCluster) startServer(i int) {
	c.t.Helper()
	o := c.options(&cluster.Task{Type: "ps", Index: i})
	if o.Replicas < 2 {
		o.Directory = c.dirs[i]
	}
	s, err := parameterserver.NewServer(o)
	require.NoError(c.t, err)
	c.servers[i] = s
	go func() { _ = s.Serve(context.Background()) }()
	c.t.Cleanup(func() { s.Close() })
}

func (c *testCluster) startWorker(i int) {
	c.t.Helper()
	j, err := parameterserver.Join(c.t.Context(), c.options(&cluster.Task{Type: "worker", Index: i}))
	require.NoError(c.t, err)
	c.workers[i] = j
	c.t.Cleanup(func() { j.Close() })
}

func (c *testCluster) register(name string, f parameters.Function) {
	for _, w := range c.workers {
		w.Register(name, f)
	}
}

func (c *testCluster) coordinate() parameters.Job {
	c.t.Helper()
	j, err := parameterserver.Join(c.t.Context(), c.options(nil))
	require.NoError(c.t, err)
	c.t.Cleanup(func() { j.Close() })
	return j
}

func value(t testing.TB, j parameters.Job, v *parameters.Variable) []float32 {
	t.Helper()
	r := &parameters.Read{Variable: v}
	require.NoError(t, j.Pull(t.Context(), r))
	return r.Values
}

// increment adds 1 to all of a variable.
func increment(job func() parameters.Job, name string) parameters.Function {
	return func(ctx context.Context, c *parameters.Closure) (parameters.Outcome, error) {
		v, err := job().Find(ctx, name)
		if err != nil {
			return parameters.Outcome{}, err
		}
		ones := make([]float32, v.Rows()*v.Width)
		for i := range ones {
			ones[i] = 1
		}
		return parameters.Outcome{Value: binary.LittleEndian.AppendUint32(nil, uint32(c.Worker)), Changes: []parameters.Change{{Variable: v, Op: parameters.Add, Values: ones}}}, nil
	}
}

func schedule(t testing.TB, j parameters.Job, name string, n int) []parameters.Pending {
	t.Helper()
	var out []parameters.Pending
	for range n {
		p, err := j.Schedule(t.Context(), name, nil, -1)
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

func TestScheduleJoin(t *testing.T) {
	c := newCluster(t, 2, 2, func(o *parameterserver.Options) { o.VariablePartitioner = partitioners.FixedShards{Shards: 2} })
	j := c.coordinate()
	v, created, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{5, 2}, Value: func() ([]float32, error) {
		return []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, nil
	}})
	require.NoError(t, err)
	require.True(t, created)
	require.Len(t, v.Shards, 2)
	require.NotEqual(t, v.Shards[0].Server, v.Shards[1].Server)
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	schedule(t, j, "increment", 10)
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, []float32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, value(t, j, v))
	schedule(t, j, "increment", 10)
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, float32(20), value(t, j, v)[0])
	done, err := j.Done()
	require.NoError(t, err)
	require.True(t, done)
	rows := &parameters.Read{Variable: v, IDs: []int64{0, 2, 3, 4}} // the first rows of both shards among them
	require.NoError(t, j.Pull(t.Context(), rows))
	require.Equal(t, []float32{20, 21, 24, 25, 26, 27, 28, 29}, rows.Values)
	again, created, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{5, 2}})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, v, again)
}

func TestThreadsSchedule(t *testing.T) {
	c := newCluster(t, 2, 2, nil)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	var wait sync.WaitGroup
	for range 10 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			schedule(t, j, "increment", 20)
		}()
	}
	wait.Wait()
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, []float32{200}, value(t, j, v))
}

func TestFailingClosure(t *testing.T) {
	c := newCluster(t, 2, 1, nil)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	slow := func(ctx context.Context, cl *parameters.Closure) (parameters.Outcome, error) {
		time.Sleep(50 * time.Millisecond)
		return increment(func() parameters.Job { return c.workers[0] }, "v")(ctx, cl)
	}
	c.register("slow", slow)
	c.register("bad", func(context.Context, *parameters.Closure) (parameters.Outcome, error) {
		time.Sleep(20 * time.Millisecond)
		return parameters.Outcome{}, errors.New("deliberate")
	})
	c.register("panics", func(context.Context, *parameters.Closure) (parameters.Outcome, error) { panic("oh") })
	bad := schedule(t, j, "bad", 1)
	others := schedule(t, j, "slow", 8)
	err = j.Join(t.Context())
	var failed *parameterserver.ClosureError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, `the function "bad" failed on worker:`)
	require.ErrorContains(t, err, "deliberate")
	_, err = bad[0].Fetch(t.Context())
	require.ErrorContains(t, err, "deliberate")
	ran, cancelled := 0, 0
	for _, p := range others {
		if _, err := p.Fetch(t.Context()); err == nil {
			ran++
		} else {
			require.ErrorIs(t, err, parameters.ErrCancelled)
			cancelled++
		}
	}
	require.Positive(t, cancelled)
	require.Equal(t, []float32{float32(ran)}, value(t, j, v))
	done, err := j.Done()
	require.NoError(t, err, "it was told once")
	require.True(t, done)
	require.NoError(t, j.Join(t.Context()))
	schedule(t, j, "slow", 1)
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, []float32{float32(ran + 1)}, value(t, j, v))
	schedule(t, j, "panics", 1)
	require.ErrorContains(t, j.Join(t.Context()), "it panicked: oh")
}

// TestServerComesBack: a server that is killed, again and again, comes back with everything, and no closure is applied
// twice or lost.
func TestServerComesBack(t *testing.T) {
	c := newCluster(t, 3, 2, func(o *parameterserver.Options) {
		o.LogBytes = 2000 // many snapshots
		o.VariablePartitioner = partitioners.FixedShards{Shards: 2}
	})
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2}})
	require.NoError(t, err)
	c.register("increment", increment(func() parameters.Job { return c.workers[1] }, "v"))
	total := 0
	for n := range 8 {
		schedule(t, j, "increment", 100)
		total += 100
		time.Sleep(3 * time.Millisecond)
		c.servers[n%2].Close()
		time.Sleep(10 * time.Millisecond)
		clock := fairclock.Start()
		c.startServer(n % 2)
		require.NoError(t, j.Join(t.Context()))
		require.Less(t, clock.Elapsed(), 3*time.Second)
		clock.Stop()
		require.Equal(t, []float32{float32(total), float32(total)}, value(t, j, v))
	}
}

func TestServerWithoutItsState(t *testing.T) {
	c := newCluster(t, 1, 1, nil)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	c.servers[0].Close()
	c.dirs[0] = t.TempDir()
	c.startServer(0)
	err = j.Pull(t.Context(), &parameters.Read{Variable: v})
	require.ErrorIs(t, err, parameterserver.ErrStateLost)
	require.ErrorContains(t, err, "ps:0 at 127.0.0.1:")
}

// TestNewCoordinatorWithoutState: a coordinator that takes over does not start over where one of the servers has lost
// what it had.
func TestNewCoordinatorWithoutState(t *testing.T) {
	c := newCluster(t, 1, 2, func(o *parameterserver.Options) { o.VariablePartitioner = partitioners.FixedShards{Shards: 2} })
	_, _, err := c.coordinate().Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2}})
	require.NoError(t, err)
	c.servers[1].Close()
	c.dirs[1] = t.TempDir()
	c.startServer(1)
	_, err = parameterserver.Join(t.Context(), c.options(nil))
	require.ErrorIs(t, err, parameterserver.ErrStateLost)
	require.ErrorContains(t, err, "ps:1 at 127.0.0.1:")
}

// TestRoundOnTwoServers: a part of a round that one server has and another has not is computed again of the values that
// it was computed of.
func TestRoundOnTwoServers(t *testing.T) {
	c := newCluster(t, 2, 2, func(o *parameterserver.Options) { o.VariablePartitioner = partitioners.FixedShards{Shards: 2} })
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2}, Value: func() ([]float32, error) { return []float32{1, 2}, nil }})
	require.NoError(t, err)
	round := j.Round()
	c.register("part", func(ctx context.Context, cl *parameters.Closure) (parameters.Outcome, error) {
		read := &parameters.Read{Variable: v}
		if err := c.workers[cl.Worker].Pull(ctx, read); err != nil {
			return parameters.Outcome{}, err
		}
		part := int(cl.Argument[0])
		text := fmt.Appendf(nil, "%d of %v", part, read.Values)
		return parameters.Outcome{Value: text, Round: round, Part: part, Changes: []parameters.Change{{Variable: v, Op: parameters.Add, Values: []float32{4, float32(8 * part)}}}}, nil
	})
	for _, part := range []byte{1, 0, 0} { // the last one as if its worker had been lost
		p, err := j.Schedule(t.Context(), "part", []byte{part}, -1)
		require.NoError(t, err)
		got, err := p.Fetch(t.Context())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d of [1 2]", part), string(got))
	}
	require.ErrorContains(t, j.Settle(t.Context(), []int{0, 2}), "part 2 is not on this server")
	require.NoError(t, j.Settle(t.Context(), []int{1, 0}))
	require.Equal(t, []float32{9, 10}, value(t, j, v))
	require.Equal(t, round+1, j.Round())
	p, err := j.Schedule(t.Context(), "part", []byte{0}, -1)
	require.NoError(t, err)
	_, err = p.Fetch(t.Context())
	require.NoError(t, err, "it comes too late")
	require.Equal(t, []float32{9, 10}, value(t, j, v))
	require.Equal(t, round+1, c.coordinate().Round(), "also for a coordinator that takes over")
	require.ErrorContains(t, c.workers[0].Settle(t.Context(), []int{0}), "only the coordinator")
}

// TestWorkersComeAndGo: closures of workers that die go to others, and are applied once.
func TestWorkersComeAndGo(t *testing.T) {
	c := newCluster(t, 3, 2, nil)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	other := c.coordinateless()
	c.register("increment", increment(func() parameters.Job { return other }, "v"))
	for n := range 20 {
		schedule(t, j, "increment", 50)
		time.Sleep(time.Millisecond)
		c.workers[n%3].Close()
		c.startWorker(n % 3)
		c.workers[n%3].Register("increment", increment(func() parameters.Job { return other }, "v"))
	}
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, []float32{1000}, value(t, j, v))
}

// coordinateless is a job that only reads: a worker of a larger cluster that nobody calls.
func (c *testCluster) coordinateless() parameters.Job {
	o := c.options(&cluster.Task{Type: "worker", Index: 0})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	o.Listener = l
	j, err := parameterserver.Join(c.t.Context(), o)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { j.Close() })
	return j
}

// TestCoordinatorComesBack: a new coordinator finds the variables, and what the old one still had under way counts once
// or not at all.
func TestCoordinatorComesBack(t *testing.T) {
	c := newCluster(t, 2, 2, nil)
	j := c.coordinate()
	_, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	require.NoError(t, j.SetNote(t.Context(), "epoch", []byte("4")))
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	schedule(t, j, "increment", 30)
	require.NoError(t, j.Join(t.Context()))
	schedule(t, j, "increment", 30) // and then it is silent
	clock := fairclock.Start()
	defer clock.Stop()
	next := c.coordinate()
	v, created, err := next.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	require.False(t, created)
	note, err := next.Note(t.Context(), "epoch")
	require.NoError(t, err)
	require.Equal(t, "4", string(note))
	before := value(t, next, v)[0]
	require.GreaterOrEqual(t, before, float32(30))
	schedule(t, next, "increment", 10)
	require.NoError(t, next.Join(t.Context()))
	require.Less(t, clock.Elapsed(), 2*time.Second)
	require.Equal(t, before+10, value(t, next, v)[0])
	require.ErrorContains(t, j.SetNote(t.Context(), "epoch", []byte("5")), "stale")
}

func TestStaleWait(t *testing.T) {
	c := newCluster(t, 1, 1, func(o *parameterserver.Options) {
		o.JoinTimeout, o.ServerTimeout = 3*time.Second, 3*time.Second
		if task, _ := o.Resolver.TaskType(); task == "worker" {
			o.JoinTimeout = 100 * time.Millisecond // it waits that long for a function
		}
	})
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	schedule(t, j, "nobody knows it", 1)
	require.ErrorContains(t, j.Join(t.Context()), `has no function "nobody knows it"`)
	c.workers[0].Close()
	c.register("x", nil)
	schedule(t, j, "x", 1)
	require.ErrorContains(t, j.Join(t.Context()), "there was no worker for 3s")
	pending, err := j.Schedule(t.Context(), "x", nil, -1)
	require.NoError(t, err)
	_, err = pending.Fetch(t.Context())
	require.ErrorContains(t, err, "there was no worker for 3s")
	c.servers[0].Close()
	err = j.Pull(t.Context(), &parameters.Read{Variable: v})
	var lost *parameterserver.ServerError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, "ps:0", lost.Task)
	require.ErrorContains(t, err, "start it again with the same Directory")
}

func TestFetchAndOver(t *testing.T) {
	c := newCluster(t, 3, 1, nil)
	j := c.coordinate()
	c.register("who", func(_ context.Context, cl *parameters.Closure) (parameters.Outcome, error) {
		return parameters.Outcome{Value: fmt.Appendf(nil, "%d %s", cl.Worker, cl.Argument)}, nil
	})
	for i := range 3 {
		p, err := j.Schedule(t.Context(), "who", []byte("x"), i)
		require.NoError(t, err)
		got, err := p.Fetch(t.Context())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i, " x"), string(got))
	}
	_, err := j.Schedule(t.Context(), "who", nil, 3)
	require.ErrorContains(t, err, "there is no worker:3")
	require.NoError(t, j.Close())
	for _, w := range c.workers {
		require.NoError(t, w.Over(t.Context()))
	}
	_, err = j.Schedule(t.Context(), "who", nil, -1)
	require.ErrorIs(t, err, parameters.ErrOver)
}
