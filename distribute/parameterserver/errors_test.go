package parameterserver_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestBadClusters(t *testing.T) {
	join := func(jobs map[string][]string, task *cluster.Task, change func(*parameterserver.Options)) error {
		spec, err := cluster.NewSpec(jobs)
		require.NoError(t, err)
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}}
		if change != nil {
			change(&o)
		}
		_, err = parameterserver.Join(t.Context(), o)
		return err
	}
	local := []string{"127.0.0.1:1"}
	good := map[string][]string{"ps": local, "worker": {"127.0.0.1:2"}}
	for text, err := range map[string]error{
		"the cluster is empty":                              join(nil, nil, nil),
		"there must be at least one parameter server":       join(map[string][]string{"worker": local}, nil, nil),
		"there must be at least one worker":                 join(map[string][]string{"ps": local}, nil, nil),
		`job "worker" of the cluster is empty`:              join(map[string][]string{"ps": local, "worker": {}}, nil, nil),
		"at most one chief":                                 join(map[string][]string{"ps": local, "worker": {"127.0.0.1:2"}, "chief": {"127.0.0.1:3", "127.0.0.1:4"}}, nil, nil),
		`disallowed task type "sparse"`:                     join(map[string][]string{"ps": local, "worker": {"127.0.0.1:2"}, "sparse": local}, nil, nil),
		`unrecognized task type "queen"`:                    join(good, &cluster.Task{Type: "queen"}, nil),
		"exceeds the maximum":                               join(good, &cluster.Task{Type: "worker", Index: 1}, nil),
		"task ps:0 holds variables: call Serve":             join(good, &cluster.Task{Type: "ps"}, nil),
		"ps:0 and worker:1 at the same address 127.0.0.1:1": join(map[string][]string{"ps": local, "worker": {"127.0.0.1:2", "127.0.0.1:1"}}, nil, nil),
		"ps:0 and ps:1 at the same address":                 join(map[string][]string{"ps": {"127.0.0.1:1", "127.0.0.1:1"}, "worker": {"127.0.0.1:2"}}, nil, nil),
		"chief:0 and ps:0 at the same address":              join(map[string][]string{"ps": local, "worker": {"127.0.0.1:2"}, "chief": local}, nil, nil),
		"is not HOST:PORT":                                  join(map[string][]string{"ps": {"here"}, "worker": {"127.0.0.1:2"}}, nil, nil),
		"is not a loopback address":                         join(map[string][]string{"ps": {"10.0.0.1:5"}, "worker": {"127.0.0.1:2"}}, nil, nil),
		"the secret has 4 bytes": join(good, nil, func(o *parameterserver.Options) {
			o.Security = &collective.Security{Secret: []byte("abcd")}
		}),
		"none may be negative": join(good, nil, func(o *parameterserver.Options) { o.Consistency.Staleness = -1 }),
		"set Synchronous":      join(good, nil, func(o *parameterserver.Options) { o.Consistency.Backups = 1 }),
		"no stale gradients": join(good, nil, func(o *parameterserver.Options) {
			o.Consistency = parameterserver.Consistency{Synchronous: true, Staleness: 2}
		}),
		"must be at least 10ms": join(good, nil, func(o *parameterserver.Options) { o.Deadline = time.Millisecond }),
		"ps:0 at 127.0.0.1:1 has not answered for": join(good, nil, func(o *parameterserver.Options) {
			o.JoinTimeout, o.Deadline = 50*time.Millisecond, 50*time.Millisecond
		}),
	} {
		require.ErrorContains(t, err, text)
	}
	spec, err := cluster.NewSpec(good)
	require.NoError(t, err)
	_, err = parameterserver.NewServer(parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: "worker"}}})
	require.ErrorContains(t, err, "only tasks of type ps do")
}

// TestBadClusterVectors: what TensorFlow refuses is refused, or waits for in vain is an error in the end.
func TestBadClusterVectors(t *testing.T) {
	t.Run("pss.bad_cluster", func(t *testing.T) {
		ps, worker := []string{"127.0.0.1:1"}, []string{"127.0.0.1:2"}
		clusters := map[string]struct {
			jobs map[string][]string
			text string
		}{
			"empty":            {nil, "the cluster is empty; name the tasks of the jobs worker and ps"},
			"no_ps":            {map[string][]string{"worker": worker}, "there must be at least one parameter server"},
			"no_worker":        {map[string][]string{"ps": ps}, "there must be at least one worker"},
			"two_chiefs":       {map[string][]string{"ps": ps, "worker": worker, "chief": {"127.0.0.1:3", "127.0.0.1:4"}}, "at most one chief"},
			"unknown_job":      {map[string][]string{"ps": ps, "worker": worker, "boss": {"127.0.0.1:3"}}, `disallowed task type "boss"`},
			"evaluator_inside": {map[string][]string{"ps": ps, "worker": worker, "evaluator": {"127.0.0.1:3"}}, "ps:0 at 127.0.0.1:1 has not answered for"},
		}
		var expected map[string]any
		for _, c := range tfvectors.Load(t, "../cluster/testdata/cluster.json.gz") {
			if c.ID == "pss.bad_cluster" {
				expected = c.Map(t)
			}
		}
		require.Len(t, expected, len(clusters))
		for name, c := range clusters {
			require.True(t, tfvectors.IsError(expected[name]), name)
			spec, err := cluster.NewSpec(c.jobs)
			require.NoError(t, err)
			o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec}, JoinTimeout: 50 * time.Millisecond, Deadline: 50 * time.Millisecond}
			_, err = parameterserver.NewStrategy(t.Context(), o)
			require.ErrorContains(t, err, c.text, name)
		}
	})
}

func TestBadVariables(t *testing.T) {
	bad := partitioners.Func(func(shape ir.Shape, _ int) ([]int, error) {
		if shape.Size() == 7 {
			return []int{0}, nil
		}
		return []int{1}, nil
	})
	c := newCluster(t, 1, 1, func(o *parameterserver.Options) { o.VariablePartitioner, o.MaxBytes = bad, 1<<20 })
	j := c.coordinate()
	create := func(s parameters.Spec) error {
		_, _, err := j.Create(t.Context(), s)
		return err
	}
	require.NoError(t, create(parameters.Spec{Name: "v", Shape: ir.Shape{3}}))
	require.ErrorContains(t, create(parameters.Spec{Name: "w", Shape: ir.Shape{7}}), "the partitioner for variable w of shape [7] returned [0]")
	require.ErrorContains(t, create(parameters.Spec{Shape: ir.Shape{3}}), "needs a name")
	require.ErrorContains(t, create(parameters.Spec{Name: "w", Shape: ir.Shape{-3}}), "at least 0")
	require.ErrorContains(t, create(parameters.Spec{Name: "v", Shape: ir.Shape{4}}), "exists with the shape [3], received [4]")
	require.ErrorContains(t, create(parameters.Spec{Name: "v", Shape: ir.Shape{3}, Rule: parameters.Rule{Kind: parameters.SGD}}), "exists with another shape, rule")
	require.ErrorContains(t, create(parameters.Spec{Name: "large", Shape: ir.Shape{1 << 19}}), "needs 2097152 bytes")
	require.ErrorContains(t, create(parameters.Spec{Name: "x", Shape: ir.Shape{1}, Rule: parameters.Rule{Kind: parameters.Adam, Beta1: 2}}), "betas")
	v, err := j.Find(t.Context(), "v")
	require.NoError(t, err)
	_, err = j.Find(t.Context(), "nothing")
	require.ErrorContains(t, err, `there is no variable "nothing"`)
	change := func(ch parameters.Change) error { return j.Change(t.Context(), ch) }
	require.ErrorContains(t, change(parameters.Change{Variable: v, Values: make([]float32, 2)}), "has 2 numbers; expected 3")
	require.ErrorContains(t, change(parameters.Change{Variable: v, Op: parameters.Gradient, Values: make([]float32, 3)}), "made without a rule")
	require.ErrorContains(t, change(parameters.Change{Variable: v, IDs: []int64{2, 1}, Values: make([]float32, 2)}), "expected increasing rows")
	require.ErrorContains(t, change(parameters.Change{Variable: v, IDs: []int64{3}, Values: make([]float32, 1)}), "received row 3")
	require.ErrorContains(t, j.Pull(t.Context(), &parameters.Read{}), "without a variable")
}

func TestDifferentDevices(t *testing.T) {
	n := 0
	c := newCluster(t, 2, 1, func(o *parameterserver.Options) {
		if task, _ := o.Resolver.TaskType(); task == "worker" {
			n++
			o.Devices = []string{"cpu:0", "cpu:1"}[:n]
		}
	})
	j := c.coordinate()
	c.register("x", nil)
	require.Eventually(t, func() bool {
		_, err := j.Schedule(t.Context(), "x", nil, -1)
		return err != nil
	}, time.Minute, 5*time.Millisecond)
	_, err := j.Schedule(t.Context(), "x", nil, -1)
	require.ErrorContains(t, err, "all workers need the same number")
}

// TestInterruptedWait: a wait for a server that the caller ends says for which.
func TestInterruptedWait(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	address, err := spec.Address(cluster.Task{Type: "ps"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = parameterserver.Join(ctx, parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec}, Deadline: 50 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "waiting for ps:0 at "+address+", which has not answered for ")
}

// TestPortInUse: a process waits for its port, as that of a predecessor that is about to end, for some time.
func TestPortInUse(t *testing.T) {
	c := newCluster(t, 1, 1, nil)
	address, err := c.spec.Address(cluster.Task{Type: "worker"})
	require.NoError(t, err)
	time.AfterFunc(100*time.Millisecond, func() { c.workers[0].Close() })
	w, err := parameterserver.Join(t.Context(), c.options(&cluster.Task{Type: "worker"}))
	require.NoError(t, err)
	defer w.Close()
	o := c.options(&cluster.Task{Type: "worker"})
	o.JoinTimeout = 50 * time.Millisecond
	_, err = parameterserver.Join(t.Context(), o)
	require.ErrorContains(t, err, "worker:0 cannot listen on its address: listen tcp "+address)
	require.ErrorContains(t, err, "give this task another port")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = parameterserver.Join(ctx, c.options(&cluster.Task{Type: "worker"}))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "worker:0 cannot listen on its address: listen tcp "+address)
	ps, err := c.spec.Address(cluster.Task{Type: "ps"})
	require.NoError(t, err)
	o = c.options(&cluster.Task{Type: "ps"})
	o.Directory, o.JoinTimeout = t.TempDir(), 50*time.Millisecond
	require.ErrorContains(t, parameterserver.Serve(t.Context(), o), "ps:0 cannot listen on its address: listen tcp "+ps)
}

// TestStrangers: what comes from another job, another version or somebody without the secret is refused, and the job
// continues.
func TestStrangers(t *testing.T) {
	secret := collective.NewSecret()
	c := newCluster(t, 1, 1, func(o *parameterserver.Options) {
		o.Security, o.Job = &collective.Security{Secret: []byte(secret)}, "mine"
	})
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v"})
	require.NoError(t, err)
	join := func(change func(*parameterserver.Options)) error {
		o := c.options(nil)
		o.JoinTimeout = time.Second
		change(&o)
		_, err := parameterserver.Join(t.Context(), o)
		return err
	}
	require.ErrorContains(t, join(func(o *parameterserver.Options) { o.Job, o.JoinTimeout = "other", time.Minute }), "ps:0 belongs to another job")
	require.ErrorContains(t, join(func(o *parameterserver.Options) { o.Security = nil }), "has not answered for")
	require.ErrorContains(t, join(func(o *parameterserver.Options) {
		o.Security = &collective.Security{Secret: []byte(collective.NewSecret())}
	}), "has not answered for")
	address := c.servers[0].Address()
	for _, creds := range []credentials.TransportCredentials{insecure.NewCredentials(), credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})} {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		require.Error(t, conn.Invoke(ctx, "/gokeras.parameterserver.v1.Server/List", nil, nil))
		cancel()
		require.NoError(t, conn.Close())
	}
	raw, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = raw.Write(make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, raw.Close())
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	schedule(t, j, "increment", 3)
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, []float32{3}, value(t, j, v))
}

// TestOtherSecret: where a process has another secret, or none, or belongs to another job, it ends within deadlines,
// and so do those that cannot go on without it; not when the time is over for which they wait for each other. A worker
// hears of no coordinator then.
func TestOtherSecret(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	const deadline = 500 * time.Millisecond
	for name, other := range map[string]*collective.Security{"another": {Secret: []byte(collective.NewSecret())}, "none": nil, "job": nil} {
		for _, odd := range []string{"ps", "worker", "chief"} {
			t.Run(name+" "+odd, func(t *testing.T) {
				secret := &collective.Security{Secret: []byte(collective.NewSecret())}
				waiting, stop := context.WithCancel(t.Context())
				defer stop()
				type end struct {
					of  string
					err error
				}
				ends := make(chan end, 3)
				run := func(ctx context.Context, task *cluster.Task, of string) {
					o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Hour, ServerTimeout: time.Hour, Deadline: deadline, Security: secret}
					switch {
					case of == odd && name == "job":
						o.Job = "other"
					case of == odd:
						o.Security = other
					}
					err := parameterserver.Run(ctx, o, func(ctx context.Context, job parameters.Job) error {
						if !job.Coordinates() {
							if _, err := job.Note(ctx, "n"); err != nil {
								return err
							}
							return job.Over(ctx)
						}
						p, err := job.Schedule(ctx, "f", nil, 0)
						if err != nil {
							return err
						}
						_, err = p.Fetch(ctx)
						return errors.Join(err, job.Join(ctx))
					})
					ends <- end{of, err}
				}
				began := time.Now()
				go run(waiting, &cluster.Task{Type: "ps"}, "ps")
				go run(waiting, &cluster.Task{Type: "worker"}, "worker")
				go run(waiting, nil, "chief")
				clock := fairclock.Start()
				defer clock.Stop()
				ended, chiefEnded := map[string]error{}, time.Duration(0)
				hear := func(what string) {
					e := fairclock.Receive(t, clock, 20*time.Second, ends, what)
					if ended[e.of] = e.err; e.of == "chief" {
						chiefEnded = time.Since(began)
					}
				}
				for _, of := range []string{"chief", "worker"} {
					if of == "worker" && odd == "chief" {
						continue
					}
					for _, over := ended[of]; !over; _, over = ended[of] { // a server may have ended meanwhile
						hear("the end of the " + of)
					}
					require.ErrorContains(t, ended[of], "give all processes the same", of)
				}
				if name == "job" && odd == "worker" { // the server, which is gone soon after the chief, tells the worker
					require.GreaterOrEqual(t, chiefEnded, 2*deadline)
				}
				stop()
				for len(ended) < 3 {
					hear("the end of the rest")
				}
			})
		}
	}
}

// killed is how often a worker dies in TestThousandKills: make chaos-ps lets it be a thousand times.
var killed = flag.Int("kills", 150, "deaths of a worker in TestThousandKills")

// TestThousandKills: a worker dies again and again, most of the time in the middle of closures, and each closure counts
// once on each server.
func TestThousandKills(t *testing.T) {
	kills := *killed
	if testing.Short() {
		kills = min(kills, 60)
	}
	c := newCluster(t, 2, 2, func(o *parameterserver.Options) { o.VariablePartitioner = partitioners.FixedShards{Shards: 2} })
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{2}})
	require.NoError(t, err)
	reader := c.coordinateless()
	count := increment(func() parameters.Job { return reader }, "v")
	c.register("increment", count)
	total := 0
	for n := range kills {
		total += len(schedule(t, j, "increment", 20))
		time.Sleep(time.Duration(n%7) * 200 * time.Microsecond)
		c.workers[0].Close()
		w, err := parameterserver.Join(t.Context(), c.options(&cluster.Task{Type: "worker"}))
		require.NoError(t, err)
		c.workers[0] = w
		w.Register("increment", count)
	}
	require.NoError(t, j.Join(t.Context()))
	require.Equal(t, []float32{float32(total), float32(total)}, value(t, j, v))
	c.workers[0].Close()
}
