package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/tfvectors"
)

// The recorded faults say what TensorFlow does. The goals are ours: nothing is lost or doubled, nobody waits longer
// than a deadline.

// batches runs batches of ten closures, with a fault in the middle, and returns the longest a batch took and how often
// the counter counted.
func (k *counting) batches(t *testing.T, n int, fault func()) (longest time.Duration) {
	t.Helper()
	for i := range n {
		clock := fairclock.Start()
		k.schedule(t, 10)
		if i == n/2 {
			time.Sleep(5 * time.Millisecond)
			fault()
		}
		require.NoError(t, k.Join(t.Context()))
		clock.Stop()
		longest = max(longest, clock.Elapsed())
		require.EqualValues(t, 10*(i+1), k.value(t))
	}
	return longest
}

func workerKilled(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 10*time.Millisecond, nil)
	longest := k.batches(t, 10, func() { require.NoError(t, k.workers[0].Close()) })
	require.Less(t, longest, 2*time.Second)
	require.EqualValues(t, tfvectors.Get(c.Exact, "v_minus_done_after"), k.value(t)-100)
	k.startWorker(0) // it is taken back
	require.Eventually(t, func() bool {
		v, err := k.ScheduleOn(t.Context(), 0, k.count)
		require.NoError(t, err)
		_, err = v.Fetch(t.Context())
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// freeze stops a task for some time, as SIGSTOP does.
func (j *testJob) freeze(task cluster.Task, d time.Duration) {
	g := j.gates[task]
	g.frozen.Lock()
	time.AfterFunc(d, g.frozen.Unlock)
}

func workerStopped(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 5*time.Millisecond, func(o *parameterserver.Options) { o.Deadline = 300 * time.Millisecond })
	longest := k.batches(t, 10, func() { k.freeze(cluster.Task{Type: "worker", Index: 1}, 3*time.Second) })
	require.Less(t, longest, 300*time.Millisecond+2*time.Second)
	require.EqualValues(t, tfvectors.Get(c.Expected, "lost_updates"), 100-k.value(t))
	require.True(t, k.told(func(text string) bool {
		return strings.HasPrefix(text, "worker:1 at 127.0.0.1:") && strings.Contains(text, "was silent for 300ms")
	}), "%q", k.heard)
	time.Sleep(3 * time.Second) // it goes on, and finds its closures done
	require.NoError(t, k.Join(t.Context()))
	require.EqualValues(t, 100, k.value(t))
}

func serverKilled(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 5*time.Millisecond, nil)
	longest := k.batches(t, 10, func() {
		require.NoError(t, k.servers[0].Close())
		time.Sleep(20 * time.Millisecond)
		k.startServer(0)
	})
	require.Less(t, longest, 3*time.Second) // TensorFlow's coordinator ends after 0.6 s
	require.NotNil(t, c.Map(t)["coordinator_raises"])
}

func serverStopped(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 5*time.Millisecond, func(o *parameterserver.Options) { o.Deadline = 300 * time.Millisecond })
	stopped := 1500 * time.Millisecond
	longest := k.batches(t, 10, func() { k.freeze(cluster.Task{Type: "ps"}, stopped) })
	require.Less(t, longest, stopped+2*time.Second)
	require.True(t, k.told(func(text string) bool {
		return strings.HasPrefix(text, "ps:0 at 127.0.0.1:") && strings.Contains(text, "has not answered for")
	}), "%q", k.heard)
	require.EqualValues(t, tfvectors.Get(c.Expected, "lost_updates"), 100-k.value(t))
}

func coordinatorKilled(t *testing.T, c *tfvectors.Case) {
	k := startCounting(t, 2, 2, 5*time.Millisecond, nil)
	k.schedule(t, 50)
	require.NoError(t, k.Join(t.Context()))
	require.EqualValues(t, tfvectors.Get(c.Expected, "restored_v"), k.value(t))
	k.schedule(t, 10) // nobody waits for these
	clock := fairclock.Start()
	defer clock.Stop()
	k.ClusterCoordinator = k.coordinate()
	before := k.value(t)
	require.GreaterOrEqual(t, before, 50.0)
	require.LessOrEqual(t, before, 60.0)
	k.schedule(t, 1)
	require.NoError(t, k.Join(t.Context()))
	require.Less(t, clock.Elapsed(), 2*time.Second)
	require.EqualValues(t, before+1, k.value(t))
	k.schedule(t, 149)
	require.NoError(t, k.Join(t.Context()))
	require.EqualValues(t, before+150, k.value(t))
}
