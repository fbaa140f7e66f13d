package collective

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// A worker that is started again waits for its predecessor to give up their address.
func TestPortOfThePredecessor(t *testing.T) {
	t.Parallel()
	spec, list := listeners(t, 2)
	var running sync.WaitGroup
	time.AfterFunc(time.Second, func() { _ = list[1].Close() })
	for rank, listener := range []net.Listener{list[0], nil} {
		running.Go(func() {
			g, err := Join(background(), Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: rank}, Listener: listener})
			if err == nil {
				err = g.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

// An address that somebody keeps is an error, which says for how long it was waited for; the context ends the wait too.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	used, err := cluster.NewSpec(map[string][]string{"worker": {taken.Addr().String(), "127.0.0.1:1"}})
	require.NoError(t, err)
	_, err = Join(background(), Options{Cluster: used, Task: cluster.Task{Type: "worker", Index: 0}, portPatience: 50 * time.Millisecond})
	require.ErrorContains(t, err, "collective: worker:0 cannot listen on its address: listen tcp "+taken.Addr().String()+": ")
	require.ErrorContains(t, err, "address already in use, for ")
	require.ErrorContains(t, err, "give this task another port")
	ctx, cancel := context.WithTimeout(background(), 50*time.Millisecond)
	defer cancel()
	_, err = Join(ctx, Options{Cluster: used, Task: cluster.Task{Type: "worker", Index: 0}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}
