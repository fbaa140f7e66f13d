package multiworker

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/processors"
)

// TestWorkersShare: workers of one host divide its processors while they are a group, and those that are left when the
// group has changed divide them anew.
func TestWorkersShare(t *testing.T) {
	all := 6 * processors.Machine()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(all))
	t.Setenv(processors.Variable, "")
	const workers = 3
	var addresses []string
	var listeners []net.Listener
	for range workers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	var groups [workers]distribute.WorkerGroup
	each := func(from int, f func(rank int) error) {
		t.Helper()
		var running sync.WaitGroup
		var errs [workers]error
		for rank := from; rank < workers; rank++ {
			running.Go(func() { errs[rank] = f(rank) })
		}
		running.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
	}
	each(0, func(rank int) error {
		g, err := JoinHosts(Options{Listener: listeners[rank]})(context.Background(), spec, cluster.Task{Type: cluster.Worker, Index: rank})
		groups[rank] = g
		return err
	})
	require.Equal(t, all/workers, processors.Count())
	require.NoError(t, groups[0].Close())
	regroup := func(from, least int) {
		t.Helper()
		each(from, func(rank int) error {
			g := groups[rank].(*group)
			g.least = least
			return g.Regroup(context.Background(), distribute.Standing{})
		})
	}
	regroup(1, 2)
	require.Equal(t, all/2, processors.Count())
	require.NoError(t, groups[1].Close())
	regroup(2, 1)
	require.Equal(t, all, processors.Count(), "the last one has all of them")
	require.NoError(t, groups[2].Close())
	require.Equal(t, all, processors.Count())
	groups[1].(*group).sharing.set(3, false) // a change that is noticed after the end
	require.Equal(t, all, processors.Count())
}
