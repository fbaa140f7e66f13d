package multiworker_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/namespaces"
)

// networkKinds are faults of workers on hosts of their own.
var networkKinds = []string{"link pulled", "half open", "one way", "slow", "apart", "killed", "flapping", "half frozen"}

// networkFault does something to the network or to workers and undoes it, sooner or later than the deadline.
func (j *chaos) networkFault(network *namespaces.Network, kind string, elastic bool) {
	i := j.rng.IntN(len(j.workers))
	other := j.otherThan(i)
	if elastic {
		j.whole()
	}
	before := j.latest()
	j.mu.Lock()
	j.log = append(j.log, fmt.Sprintf("%s FAULT: %s, worker %d after step %d", time.Now().Format("05.000"), kind, i, before))
	j.mu.Unlock()
	wait := func() { time.Sleep(time.Duration(j.rng.IntN(200)) * networkDeadline / 100) }
	switch kind {
	case "link pulled":
		network.Pull(i, true)
		wait()
		network.Pull(i, false)
	case "half open": // the others have connections to a process that is gone and cannot say so
		network.Pull(i, true)
		time.Sleep(time.Duration(j.rng.IntN(100)) * time.Millisecond)
		j.signal(i, syscall.SIGKILL)
		j.again(i)
		wait()
		network.Pull(i, false)
	case "one way":
		network.Set(i, other, namespaces.Link{Down: true})
		wait()
		network.Set(i, other, namespaces.Link{})
	case "slow":
		network.SetAll(namespaces.Link{Delay: 15 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.02, Reorder: 0.02})
		j.await(before + 3)
		network.SetAll(namespaces.Link{})
	case "apart":
		network.Part(i)
		wait()
		network.Part()
	case "flapping":
		for range 6 {
			network.Pull(i, true)
			time.Sleep(time.Duration(j.rng.IntN(400)) * time.Millisecond)
			network.Pull(i, false)
			time.Sleep(time.Duration(j.rng.IntN(400)) * time.Millisecond)
		}
	case "half frozen":
		j.frozen(j.half(), before, false, networkDeadline)
	default:
		j.signal(i, syscall.SIGKILL)
		j.again(i)
	}
	j.await(max(before+2, j.latest()+1) + j.rng.IntN(20))
}

// TestChaosOnNetwork: links of a network are pulled, work one way, delay and lose packets, and workers die behind links
// that do not say so. They train what they train unharmed.
func TestChaosOnNetwork(t *testing.T) {
	if *faults < 5 {
		t.Skip("only with -faults 5 or more: see make chaos")
	}
	for name, elastic := range map[string]*distribute.Elastic{"fixed": nil, "elastic": {Min: 2, Patience: 200 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			each := 10 // epochs during which a fault lasts
			if elastic != nil {
				each = 60
			}
			n := min(*faults, 40)
			config := chaosConfig{Elastic: elastic, Dropout: elastic == nil, Deadline: networkDeadline, Epochs: 20 + n*each}
			network, addresses, run := hosts(t, 3)
			j := chaosOn(t, network, addresses, run, config, *schedule)
			j.await(5)
			for i := range n {
				kind := networkKinds[i%len(networkKinds)]
				began := time.Now()
				j.networkFault(network, kind, elastic != nil)
				t.Logf("fault %d, %s: over after %v, at step %d", i, kind, time.Since(began).Round(time.Millisecond), j.latest())
				if j.latest() > (config.Epochs-10)*chaosSteps {
					t.Fatalf("the run ends after %d faults", i+1)
				}
			}
			results := j.end()
			requireUnbroken(t, onLoopback(t, 3, config), results, elastic == nil)
			require.False(t, slices.ContainsFunc(results, func(r chaosResult) bool { return len(r.Loss) != config.Epochs }), "epochs in the history")
		})
	}
}
