package parameterserver_test

import (
	"context"
	"math/rand/v2"
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

// replicated has a long deadline: a server that is only slow on a busy machine, and the other copy killed meanwhile,
// would be the loss of both.
func replicated(o *parameterserver.Options) {
	o.Replicas, o.VariablePartitioner, o.ServerTimeout, o.Deadline = 2, partitioners.FixedShards{Shards: 2}, time.Minute, 8*time.Second
}

// doubled waits until everything has two copies again.
func (c *testCluster) doubled() {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return parameterserver.Doubled(c.servers) }, 2*time.Minute, 5*time.Millisecond)
}

// TestReplicas: with two copies of each variable a lost server is replaced by the other, one that comes back is given a
// copy, and then the other one may go; a new coordinator finds what there is. Every closure counts once.
func TestReplicas(t *testing.T) {
	const rows = 40
	c := newCluster(t, 2, 2, replicated)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{rows, 1 << 12}})
	require.NoError(t, err)
	require.NotEqual(t, v.Shards[0].Server, v.Shards[1].Server)
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	want := 0
	train := func(n int) {
		t.Helper()
		schedule(t, j, "increment", n)
		require.NoError(t, j.Join(t.Context()))
		want += n
		for _, x := range value(t, j, v) {
			require.EqualValues(t, want, x)
		}
	}
	train(20)
	for round := range 2 {
		gone := round % 2
		require.NoError(t, c.servers[gone].Close())
		train(20)
		c.startServer(gone)
		c.doubled()
		train(20)
	}
	require.NoError(t, j.SetNote(t.Context(), "place", []byte("here")))
	j = c.coordinate() // the one before is as good as dead
	v, err = j.Find(t.Context(), "v")
	require.NoError(t, err)
	note, err := j.Note(t.Context(), "place")
	require.NoError(t, err)
	require.Equal(t, "here", string(note))
	train(20)
	require.NoError(t, c.servers[0].Close())
	train(20)
}

// TestReplicatedJobEndsAtOnce: closing waits for workers that are leaving, and not for whoever watches the servers.
func TestReplicatedJobEndsAtOnce(t *testing.T) {
	c := newCluster(t, 1, 2, func(o *parameterserver.Options) {
		replicated(o)
		o.JoinTimeout = 5 * time.Minute // a tenth of which is how long workers may take to leave
	})
	j := c.coordinate()
	c.doubled()
	clock := fairclock.Start()
	defer clock.Stop()
	go func() {
		_ = c.workers[0].Over(t.Context()) // it has nothing to take, so any end will do
		_ = c.workers[0].Close()
	}()
	require.NoError(t, j.Close())
	require.Less(t, clock.Elapsed(), 20*time.Second)
}

// TestReplicasRandomly kills servers at random while closures run; whenever both copies are there, one may go.
func TestReplicasRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := newCluster(t, 2, 3, replicated)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{7, 3}})
	require.NoError(t, err)
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			for range 10 {
				if _, err := j.Schedule(t.Context(), "increment", nil, -1); err != nil {
					t.Errorf("schedule: %v", err)
				}
				n++
			}
			if err := j.Join(t.Context()); err != nil {
				t.Errorf("join: %v", err)
				break
			}
		}
		ended <- n
	}()
	for range 3 {
		gone := r.IntN(3)
		require.NoError(t, c.servers[gone].Close())
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond) // it may be back before anybody has noticed
		c.startServer(gone)
		c.doubled()
	}
	stop()
	n := <-ended
	for _, x := range value(t, j, v) {
		require.EqualValues(t, n, x)
	}
}

// TestReplicasLost: when both copies are gone the job ends with an error that says so.
func TestReplicasLost(t *testing.T) {
	c := newCluster(t, 1, 2, replicated)
	j := c.coordinate()
	_, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2, 2}})
	require.NoError(t, err)
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	for i := range c.servers {
		require.NoError(t, c.servers[i].Close())
	}
	for i := range c.servers {
		c.startServer(i)
	}
	schedule(t, j, "increment", 1)
	require.ErrorIs(t, j.Join(t.Context()), parameterserver.ErrStateLost)
}

func TestBadReplicas(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	for text, change := range map[string]func(*parameterserver.Options){
		"Options.Replicas is 3; expected 1 or 2":                         func(o *parameterserver.Options) { o.Replicas = 3 },
		"Options.Replicas is 2 and there is one parameter server; start": func(o *parameterserver.Options) { o.Replicas = 2 },
		"keeps variables in the memory of two servers; leave out Directo": func(o *parameterserver.Options) {
			o.Replicas, o.Directory = 2, t.TempDir()
			o.Resolver = &cluster.Simple{Cluster: clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 2}), Task: &cluster.Task{Type: "ps"}}
		},
	} {
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: "ps"}}}
		change(&o)
		_, err := parameterserver.NewServer(o)
		require.ErrorContains(t, err, text)
	}
	t.Setenv(parameterserver.ReplicasVariable, "both")
	o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec}}
	_, err := parameterserver.FindCopies(t.Context(), o)
	require.ErrorContains(t, err, `the environment variable KERAS_PS_REPLICAS is "both"; expected 1 or 2`)
	t.Setenv(parameterserver.ReplicasVariable, "2")
	_, err = parameterserver.FindCopies(t.Context(), o)
	require.ErrorContains(t, err, "Options.Replicas is 2 and there is one parameter server")
	o.Replicas = 1
	_, err = parameterserver.FindCopies(t.Context(), o)
	require.ErrorContains(t, err, "each variable is on one server")
}

// TestFindCopies: it tells where copies are, and whether both are complete; a server of another job is named.
func TestFindCopies(t *testing.T) {
	c := newCluster(t, 1, 3, replicated)
	find := func() []parameterserver.Copies {
		t.Helper()
		copies, err := parameterserver.FindCopies(t.Context(), c.options(nil))
		require.NoError(t, err)
		return copies
	}
	require.Equal(t, []parameterserver.Copies{{Primary: -1, Backup: -1}, {Primary: -1, Backup: -1}, {Primary: -1, Backup: -1}}, find(), "no job has begun")
	c.coordinate()
	c.doubled()
	require.Equal(t, []parameterserver.Copies{{Primary: 0, Backup: 1, Complete: true}, {Primary: 1, Backup: 2, Complete: true}, {Primary: 2, Backup: 0, Complete: true}}, find())
	require.NoError(t, c.servers[1].Close())
	require.Eventually(t, func() bool {
		found := find()
		return found[0] == parameterserver.Copies{Primary: 0, Backup: -1} && found[1] == parameterserver.Copies{Primary: 2, Backup: -1} && found[2].Complete
	}, 2*time.Minute, time.Millisecond)
	o := c.options(nil)
	o.Job = "another"
	_, err := parameterserver.FindCopies(t.Context(), o)
	require.ErrorContains(t, err, "ps:0 belongs to another job")
}
