package collective

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/namespaces"
)

// TestNetworks runs workers on hosts of their own, with mutual TLS: links are pulled, which leaves connections open and
// silent, work in one direction only, and are made slow and lossy. It needs root and /dev/net/tun.
func TestNetworks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	if err := namespaces.Available(); err != nil {
		t.Skipf("workers on hosts of their own: %v", err)
	}
	network, err := namespaces.New(3, 2)
	require.NoError(t, err)
	t.Cleanup(network.Close)
	var addresses []string
	for i := range 3 {
		addresses = append(addresses, network.Address(i)+":4000")
	}
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
	require.NoError(t, err)
	deadline := 1500 * time.Millisecond
	j := &jobs{t: t, spec: spec, run: network.Start,
		env: []string{"COLLECTIVE_TEST_MIN=2", "COLLECTIVE_TEST_DEADLINE=" + deadline.String(), "COLLECTIVE_TEST_STREAM=1", "COLLECTIVE_TEST_SECRET=" + testSecret}}
	j.begin(3)
	t.Logf("start: %v", j.await(15*time.Second, 3, 0, 1, 2))
	for _, victim := range []int{2, 0} {
		rest := []int{(victim + 1) % 3, (victim + 2) % 3}
		lines := j.workers[rest[0]].count()
		network.Pull(victim, true)
		t.Logf("link of %d pulled: %v", victim, j.await(deadline+5*time.Second, 2, rest...))
		require.Contains(t, j.workers[rest[0]].errorAfter(lines), fmt.Sprintf("lost worker:%d (", victim))
		network.Pull(victim, false)
		t.Logf("link of %d back: %v", victim, j.await(25*time.Second, 3, 0, 1, 2))
	}
	network.Set(2, 0, namespaces.Link{Down: true})
	t.Logf("link of 2 to 0 broken in one direction: %v", j.await(2*deadline+5*time.Second, 2, 0, 1))
	network.Set(2, 0, namespaces.Link{})
	t.Logf("whole again: %v", j.await(25*time.Second, 3, 0, 1, 2))
	network.SetAll(namespaces.Link{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.01, Reorder: 0.01})
	t.Logf("slow and lossy: %v", j.await(20*time.Second, 3, 0, 1, 2))
	network.SetAll(namespaces.Link{})
	j.finish(1)
}
