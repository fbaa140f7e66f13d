package parameterserver_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/kernels/ir"
)

// newLineCluster is newCluster with tasks that listen behind lines.
func newLineCluster(t *testing.T, workers, servers int, faults func(i int) []clustertest.Fault, change func(*parameterserver.Options)) *testCluster {
	addresses, behind := clustertest.Lines(t, workers+servers, faults)
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses[:workers], "ps": addresses[workers:]})
	require.NoError(t, err)
	c := &testCluster{t: t, spec: spec, servers: make([]*parameterserver.Server, servers), workers: make([]parameters.Job, workers)}
	for i := range servers {
		c.dirs = append(c.dirs, t.TempDir())
		c.change = func(o *parameterserver.Options) { change(o); o.Listener = behind[workers+i] }
		c.startServer(i)
	}
	for i := range workers {
		c.change = func(o *parameterserver.Options) { change(o); o.Listener = behind[i] }
		c.startWorker(i)
	}
	c.change = change
	return c
}

// TestThousandKillsOfLines: closures are applied once each on whatever lines: connections that end within any byte of a
// message, or lead nowhere, stop, crawl or are refused.
func TestThousandKillsOfLines(t *testing.T) {
	draws := max(4, *killed/20)
	if testing.Short() {
		draws = 2
	}
	for draw := range draws {
		t.Run(fmt.Sprint(draw), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(*order, uint64(draw)))
			const deadline = 400 * time.Millisecond
			workers, servers, secret := 1+rng.IntN(2), 2, collective.NewSecret()
			faults := make([][]clustertest.Fault, workers+servers)
			for range 1 + rng.IntN(3) {
				i := rng.IntN(len(faults))
				faults[i] = append(faults[i], clustertest.Draw(rng, deadline))
			}
			replicas, safe := 1+rng.IntN(2), rng.IntN(2) == 0
			c := newLineCluster(t, workers, servers, func(i int) []clustertest.Fault { return faults[i] }, func(o *parameterserver.Options) {
				o.Deadline, o.Replicas = deadline, replicas
				if safe {
					o.Security = &collective.Security{Secret: []byte(secret)}
				}
			})
			t.Logf("%d workers, %d copies, secret %v, %v", workers, replicas, safe, faults)
			clock := fairclock.Start()
			defer clock.Stop()
			done := make(chan error, 1)
			go func() { done <- c.count(t) }()
			defer func() { t.Log(c.heard) }()
			err := fairclock.Receive(t, clock, 25*time.Second, done, "the end of the closures")
			t.Log(clock.Elapsed().Round(time.Millisecond), err)
			if replicas < 2 {
				require.NoError(t, err)
			} else if err != nil {
				require.ErrorIs(t, err, parameterserver.ErrStateLost)
			}
		})
	}
}

// count has workers add 1 sixty times, and looks.
func (c *testCluster) count(t *testing.T) error {
	j, err := parameterserver.Join(t.Context(), c.options(nil))
	if err != nil {
		return err
	}
	defer j.Close()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{100}})
	if err != nil {
		return err
	}
	c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
	for range 60 {
		if _, err := j.Schedule(t.Context(), "increment", nil, -1); err != nil {
			return err
		}
	}
	if err := j.Join(t.Context()); err != nil {
		return err
	}
	r := &parameters.Read{Variable: v}
	if err := j.Pull(t.Context(), r); err != nil {
		return err
	}
	for i, x := range r.Values {
		if x != 60 {
			return fmt.Errorf("element %d is %g", i, x)
		}
	}
	return nil
}
