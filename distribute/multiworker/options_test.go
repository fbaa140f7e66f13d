//go:build unix

package multiworker_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
)

// Without a cluster, or in one of one worker, the strategy is that of this process alone.
func TestAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	one, err := cluster.NewSpec(map[string][]string{cluster.Worker: {l.Addr().String()}})
	require.NoError(t, err)
	for _, o := range []multiworker.Options{
		{Resolver: &cluster.Simple{}},
		{Resolver: &cluster.Simple{Cluster: one, Task: &cluster.Task{Type: cluster.Worker}}, Listener: l},
	} {
		s, err := multiworker.NewStrategy(t.Context(), o)
		require.NoError(t, err)
		require.Equal(t, []int{1, 1, 0}, []int{s.NumReplicasInSync(), s.Workers(), s.Rank()})
		require.True(t, s.IsChief())
		r, err := trainings()[0].train(t.Context(), s, variant{dtype: "float64", batch: 8})
		require.NoError(t, err)
		want, err := trainings()[0].train(t.Context(), distribute.Default(), variant{dtype: "float64", batch: 8})
		require.NoError(t, err)
		require.Equal(t, want, r)
		require.NoError(t, s.Close())
		require.Empty(t, left())
	}
}

func TestBadOptions(t *testing.T) {
	two, err := cluster.NewSpec(map[string][]string{cluster.Worker: {"127.0.0.1:1", "127.0.0.1:2"}, cluster.ParameterServer: {"127.0.0.1:3"}})
	require.NoError(t, err)
	far, err := cluster.NewSpec(map[string][]string{cluster.Worker: {"10.0.0.1:1", "10.0.0.2:2"}})
	require.NoError(t, err)
	worker := &cluster.Simple{Cluster: two, Task: &cluster.Task{Type: cluster.Worker}}
	for text, o := range map[string]multiworker.Options{
		"takes no part in training": {Resolver: &cluster.Simple{Cluster: two, Task: &cluster.Task{Type: cluster.ParameterServer}}},
		"NCCL needs GPUs":           {Resolver: worker, Deadline: 100 * time.Millisecond, Communication: collective.CommunicationOptions{Implementation: collective.NCCL}},
		"cpu:0 is listed twice":     {Resolver: &cluster.Simple{}, Devices: []string{"cpu:0", "cpu:0"}},
		"list of devices is empty":  {Resolver: &cluster.Simple{}, Devices: []string{}},
		"Security":                  {Resolver: &cluster.Simple{Cluster: far, Task: &cluster.Task{Type: cluster.Worker}}},
	} {
		_, err := multiworker.NewStrategy(t.Context(), o)
		require.ErrorContains(t, err, text)
	}
	t.Setenv(cluster.TFConfigVariable, `{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 7}}`)
	_, err = multiworker.NewStrategy(t.Context(), multiworker.Options{})
	require.Error(t, err)
	require.Empty(t, left())
}

// A worker that never comes is named.
func TestMissingWorker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: {l.Addr().String(), "127.0.0.1:1"}})
	require.NoError(t, err)
	_, err = multiworker.NewStrategy(t.Context(), multiworker.Options{
		Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker}}, Listener: l, JoinTimeout: 300 * time.Millisecond,
	})
	var missing *collective.JoinError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.Eventually(t, func() bool { return left() == "" }, 5*time.Second, 10*time.Millisecond, "a connection that was being made ends a moment later")
}

// allocations counts what a step leaves for the garbage collector: the difference of a long and a short run.
func allocations(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
	m, err := mlp(s)
	if err != nil {
		return nil, err
	}
	count := func(epochs int) (float64, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := m.Fit(ctx, trainings()[0].arrays(false), keras.BatchSize(1), keras.Epochs(epochs), keras.Shuffle(false))
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs), err
	}
	var counts []float64
	for _, epochs := range []int{2, 10, 60} {
		n, err := count(epochs)
		if err != nil {
			return nil, err
		}
		counts = append(counts, n)
	}
	return (counts[2] - counts[1]) / (50 * examples), nil
}

func TestAllocations(t *testing.T) {
	for _, role := range []string{"allocations", "allocations, elastic"} {
		for _, perStep := range all[float64](start(t, 2, role, "")) {
			t.Logf("%s: %.2f allocations a step, with those of an epoch's end for every %d steps", role, perStep, examples)
			require.Less(t, perStep, 2.0)
		}
	}
}

// A port that somebody else keeps is an error, which says how long it was waited for.
func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: {l.Addr().String(), "127.0.0.1:1"}})
	require.NoError(t, err)
	_, err = multiworker.NewStrategy(t.Context(), multiworker.Options{JoinTimeout: 50 * time.Millisecond, Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker}}})
	require.ErrorContains(t, err, l.Addr().String())
	require.ErrorContains(t, err, "address already in use, for ")
	require.Empty(t, left())
}

func TestElasticBounds(t *testing.T) {
	for _, c := range []struct {
		e           distribute.Elastic
		least, most int
		wrong       bool
	}{
		{distribute.Elastic{}, 3, 3, false}, {distribute.Elastic{Min: 1}, 1, 3, false}, {distribute.Elastic{Min: 2, Max: 2}, 2, 2, false},
		{distribute.Elastic{Max: 2}, 2, 2, false}, {distribute.Elastic{Min: 4}, 4, 3, true}, {distribute.Elastic{Max: 4}, 4, 4, true},
		{distribute.Elastic{Min: -1}, -1, 3, true},
	} {
		least, most := c.e.Bounds(3)
		require.Equal(t, []int{c.least, c.most}, []int{least, most}, "%+v", c.e)
		require.Equal(t, c.wrong, c.e.Check(3) != nil, "%+v", c.e)
	}
	two, err := cluster.NewSpec(map[string][]string{cluster.Worker: {"127.0.0.1:1", "127.0.0.1:2"}})
	require.NoError(t, err)
	_, err = multiworker.NewStrategy(t.Context(), multiworker.Options{
		Resolver: &cluster.Simple{Cluster: two, Task: &cluster.Task{Type: cluster.Worker}}, Elastic: &distribute.Elastic{Min: 3},
	})
	require.ErrorContains(t, err, "does not fit a cluster of 2 workers")
}

func ExampleNewStrategy() {
	os.Unsetenv(cluster.TFConfigVariable) // set by a launcher on every worker: {"cluster": {"worker": [...]}, "task": {...}}
	s, err := multiworker.NewStrategy(context.Background(), multiworker.Options{Devices: []string{"cpu:0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println(s, s.IsChief())
	// Output: MultiWorkerMirrored(cpu:0) worker 0 of 1 true
}
