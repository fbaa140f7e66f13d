//go:build unix

package multiworker_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// A worker that waits to be taken in while the others finish and leave hears that, and does not wait for the join
// timeout.
func TestOthersLeave(t *testing.T) {
	const deadline = time.Second
	var addresses []string
	var listeners []net.Listener
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	join := func(rank int) (*distribute.MultiWorkerMirroredStrategy, error) {
		return multiworker.NewStrategy(context.Background(), multiworker.Options{Devices: []string{"cpu:0"}, Listener: listeners[rank], Deadline: deadline, JoinTimeout: 30 * time.Second,
			Elastic: &distribute.Elastic{Min: 2, Max: 2}, Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: rank}}})
	}
	type joined struct {
		s   *distribute.MultiWorkerMirroredStrategy
		err error
	}
	results := make([]chan joined, 3)
	enter := func(rank int) {
		results[rank] = make(chan joined, 1)
		go func() { s, err := join(rank); results[rank] <- joined{s, err} }()
	}
	enter(0)
	enter(1)
	first, second := <-results[0], <-results[1]
	require.NoError(t, first.err)
	require.NoError(t, second.err)
	enter(2) // there is no room for it
	time.Sleep(2 * deadline)
	require.Empty(t, results[2])
	began, clock := time.Now(), fairclock.Start()
	defer clock.Stop()
	ended := make(chan error, 1)
	go func() { ended <- first.s.Close() }()
	require.NoError(t, second.s.Close())
	require.NoError(t, <-ended)
	third := <-results[2]
	require.ErrorIs(t, third.err, distribute.ErrLeft)
	require.GreaterOrEqual(t, time.Since(began), 2*deadline-deadline/5, "they may come back; what they said last may be a heartbeat old")
	require.Less(t, clock.Elapsed(), 2*deadline+4*time.Second)
	require.Eventually(t, func() bool { return left() == "" }, 5*time.Second, 10*time.Millisecond, "a connection that was being made ends a moment later")
}
