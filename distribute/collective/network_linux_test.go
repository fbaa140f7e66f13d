package collective

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// TestNetworks runs workers in network namespaces of their own, joined by a bridge, with mutual TLS: links are pulled, which leaves
// connections open and silent, and made slow and lossy. It needs root and COLLECTIVE_NETWORKS=1.
func TestNetworks(t *testing.T) {
	if os.Getenv("COLLECTIVE_NETWORKS") == "" || os.Getuid() != 0 {
		t.Skip("set COLLECTIVE_NETWORKS=1, as root")
	}
	ip := func(words string) error {
		out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", words, err, out)
		}
		return nil
	}
	id := os.Getpid() % 10000
	space := func(i int) string { return fmt.Sprintf("kc%d-%d", id, i) }
	const hub = 9
	must := func(format string, args ...any) { t.Helper(); require.NoError(t, ip(fmt.Sprintf(format, args...))) }
	add := func(i int) {
		must("netns add %s", space(i))
		t.Cleanup(func() { require.NoError(t, ip("netns del "+space(i))) })
		must("-n %s link set lo up", space(i))
	}
	add(hub)
	must("-n %s link add br0 type bridge", space(hub))
	must("-n %s link set br0 up", space(hub))
	var addresses []string
	for i := range 3 {
		add(i)
		must("-n %s link add eth0 type veth peer name port%d netns %s", space(i), i, space(hub))
		must("-n %s addr add 10.77.0.%d/24 dev eth0", space(i), i+1)
		must("-n %s link set eth0 up", space(i))
		must("-n %s link set port%d master br0", space(hub), i)
		must("-n %s link set port%d up", space(hub), i)
		addresses = append(addresses, fmt.Sprintf("10.77.0.%d:4000", i+1))
	}
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
	require.NoError(t, err)
	deadline := 1500 * time.Millisecond
	j := &jobs{t: t, spec: spec, prefix: func(i int) []string { return []string{"ip", "netns", "exec", space(i)} },
		env: []string{"COLLECTIVE_TEST_MIN=2", "COLLECTIVE_TEST_DEADLINE=" + deadline.String(), "COLLECTIVE_TEST_STREAM=1", "COLLECTIVE_TEST_SECRET=a secret between the namespaces"}}
	j.begin(3)
	t.Logf("start: %v", j.await(15*time.Second, 3, 0, 1, 2))
	for _, victim := range []int{2, 0} {
		rest := []int{(victim + 1) % 3, (victim + 2) % 3}
		lines := j.workers[rest[0]].count()
		must("-n %s link set port%d down", space(hub), victim)
		t.Logf("link of %d pulled: %v", victim, j.await(deadline+5*time.Second, 2, rest...))
		require.Contains(t, j.workers[rest[0]].errorAfter(lines), fmt.Sprintf("lost worker:%d (", victim))
		must("-n %s link set port%d up", space(hub), victim)
		t.Logf("link of %d back: %v", victim, j.await(25*time.Second, 3, 0, 1, 2))
	}
	if out, err := exec.Command("ip", "netns", "exec", space(1), "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "20ms", "5ms", "loss", "1%").CombinedOutput(); err != nil {
		t.Logf("no slow link on this system: %v %s", err, out)
	} else {
		t.Logf("slow and lossy: %v", j.await(20*time.Second, 3, 0, 1, 2))
	}
	j.finish(1)
}
