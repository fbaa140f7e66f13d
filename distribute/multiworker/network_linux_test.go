package multiworker_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/namespaces"
)

// These tests run workers on hosts of their own, joined by a network that delays, loses and reorders packets and of
// which links are pulled: connections then stay open and silent. They need root and /dev/net/tun.

const (
	networkSecret   = "cd51d3c21dadf60a591dcef06bed7ff763bde112ab37be210a9fcf03111e0fc9"
	networkDeadline = 1500 * time.Millisecond
	partedEpochs    = 120 // some 10 s: those who stay must not be done before the others are back
)

// hosts makes a network with the address of a worker on each host, and what starts a worker there.
func hosts(t *testing.T, n int) (*namespaces.Network, []string, func(int, *exec.Cmd) error) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	if err := namespaces.Available(); err != nil {
		t.Skipf("workers on hosts of their own: %v", err)
	}
	t.Parallel() // most of the time is spent waiting for what was pulled
	network, err := namespaces.New(n, 1)
	require.NoError(t, err)
	t.Cleanup(network.Close)
	var addresses []string
	for i := range n {
		addresses = append(addresses, network.Address(i)+":4000")
	}
	return network, addresses, func(worker int, c *exec.Cmd) error {
		c.Env = append(c.Env, secretVariable+"="+networkSecret)
		return network.Start(worker, c)
	}
}

// apart starts workers on hosts of their own.
func apart(t *testing.T, n int, c chaosConfig) (*namespaces.Network, *chaos) {
	t.Helper()
	network, addresses, run := hosts(t, n)
	return network, chaosOn(t, network, addresses, run, c, 1)
}

func chaosOn(t *testing.T, network *namespaces.Network, addresses []string, run func(int, *exec.Cmd) error, c chaosConfig, seed uint64) *chaos {
	t.Helper()
	c.Secret, c.Stream = networkSecret, true // their memory could be shared all the same
	j := startChaos(t, addresses, run, c, seed)
	t.Cleanup(func() {
		if t.Failed() {
			j.mu.Lock()
			defer j.mu.Unlock()
			t.Logf("%+v; the workers said:\n%s", network.Counts(), strings.Join(j.log, "\n"))
		}
	})
	return j
}

// onLoopback is the same training without a network, unharmed.
func onLoopback(t *testing.T, n int, c chaosConfig) chaosResult {
	t.Helper()
	return newChaos(t, n, c, 0).end()[0]
}

// said counts the lines of a worker with a text.
func (j *chaos) said(worker int, text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, line := range j.log {
		if _, said, ok := strings.Cut(line, fmt.Sprintf(" [%d] ", worker)); ok && strings.Contains(said, text) { // before it stands the time
			n++
		}
	}
	return n
}

// awaitSaid waits until a worker has said a text more than some times and returns how long that took.
func (j *chaos) awaitSaid(worker int, text string, before int, within time.Duration) time.Duration {
	j.t.Helper()
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		switch since := time.Since(began); {
		case j.said(worker, text) > before:
			return since
		case since > within:
			j.t.Fatalf("worker %d did not say %q within %v", worker, text, within)
		}
	}
}

func (j *chaos) latest() int {
	step, _ := j.now()
	return step
}

// stepOf is the last step of a worker.
func (j *chaos) stepOf(worker int) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.reached[worker]
}

// requireUnbroken checks what workers ended with against an unbroken run: the same bits, or close where the number of
// workers changed.
func requireUnbroken(t *testing.T, want chaosResult, results []chaosResult, sameBits bool) {
	t.Helper()
	for i, r := range results {
		require.Equal(t, want.Steps, r.Steps, "worker %d: steps lost or done twice", i)
		require.Equal(t, results[0].Weights, r.Weights, "worker %d", i)
		if sameBits {
			require.Equal(t, want, r, "worker %d", i)
		} else {
			requireClose(t, want, r)
		}
	}
}

// On a slow and lossy network workers train what they train on the loopback interface, bit for bit, and nobody is lost.
func TestNetworkSlow(t *testing.T) {
	counts := trainAsOnLoopback(t, 3, chaosConfig{Dropout: true, Deadline: 3 * time.Second, Epochs: 3},
		namespaces.Link{Delay: 20 * time.Millisecond, Jitter: 4 * time.Millisecond, Loss: 0.015, Reorder: 0.01})
	require.Greater(t, counts.Reordered, int64(5), "the network reordered too little")
}

// On lines of 1 Mbit/s and 300 ms that lose every twentieth packet and reorder others they do so too.
func TestNetworkFar(t *testing.T) {
	trainAsOnLoopback(t, 2, chaosConfig{Dropout: true, Deadline: 5 * time.Second, Epochs: 1},
		namespaces.Link{Rate: 1e6 / 8, Delay: 150 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: 0.05, Reorder: 0.05})
}

func trainAsOnLoopback(t *testing.T, workers int, config chaosConfig, link namespaces.Link) namespaces.Counts {
	network, addresses, run := hosts(t, workers)
	network.SetAll(link)
	began := time.Now()
	j := chaosOn(t, network, addresses, run, config, 1)
	first := j.await(1)
	results := j.end()
	counts := network.Counts()
	t.Logf("first step after %v, %v steps within %v; %+v", first.Sub(began).Round(time.Millisecond), results[0].Steps, time.Since(began).Round(time.Millisecond), counts)
	require.Greater(t, counts.Lost, int64(5), "the network lost too little")
	require.Equal(t, 1, j.said(0, "formed"), "no worker was lost")
	requireUnbroken(t, onLoopback(t, workers, config), results, true)
	return counts
}

// If nothing is to outlive a lost worker, a pulled link ends Fit on all: the others get the same error, which names the
// one that was cut off, and that one gets an error too.
func TestNetworkPulled(t *testing.T) {
	network, addresses, run := hosts(t, 3)
	j := startAt(t, addresses, run, "endless over the network", "")
	for i := range 3 {
		j.until(i, "trained")
	}
	began := time.Now()
	network.Pull(1, true)
	var text string
	for _, i := range []int{0, 2} {
		var e ending
		j.read(i, &e)
		require.Equal(t, "member", e.Kind, e.Text)
		require.Equal(t, []string{"worker 1"}, trimmed(e.Lost), e.Text)
		require.Empty(t, e.Left)
		text = e.Text[strings.Index(e.Text, "collective:"):] + text
	}
	t.Logf("noticed and ended within %v", time.Since(began).Round(time.Millisecond))
	require.Less(t, time.Since(began), deadline+3*time.Second)
	require.Equal(t, text[:len(text)/2], text[len(text)/2:], "both get the same error")
	var e ending
	j.read(1, &e)
	require.Contains(t, []string{"member", "other"}, e.Kind, e.Text)
	require.Contains(t, e.Text, "worker:")
	require.Empty(t, e.Left)
}

// With a fixed number of workers training waits for the one whose link was pulled, and continues with the same numbers.
// So it does for the chief.
func TestNetworkLinkBack(t *testing.T) {
	config := chaosConfig{Dropout: true, Deadline: networkDeadline, Epochs: 30}
	network, j := apart(t, 3, config)
	for _, victim := range []int{1, 0} {
		j.await(j.latest() + 5)
		other := (victim + 1) % 3
		lost, formed := fmt.Sprintf("lost worker:%d (", victim), j.said(other, "formed")
		network.Pull(victim, true)
		noticed := j.awaitSaid(other, lost, 0, networkDeadline+2*time.Second)
		at := j.stepOf(other)
		time.Sleep(networkDeadline)
		require.Equal(t, at, j.stepOf(other), "it waits")
		require.Equal(t, formed, j.said(other, "formed"))
		network.Pull(victim, false)
		back := time.Now()
		t.Logf("link of %d: noticed after %v, next step %v after it was back", victim, noticed.Round(time.Millisecond), j.await(at+2).Sub(back).Round(time.Millisecond))
	}
	requireUnbroken(t, onLoopback(t, 3, config), j.end(), true)
}

// With Elastic the others go on, and take the worker back with the state of the training when the link is back.
func TestNetworkElastic(t *testing.T) {
	config := chaosConfig{Elastic: &distribute.Elastic{Min: 2, Patience: 200 * time.Millisecond}, Deadline: networkDeadline, Epochs: partedEpochs}
	network, j := apart(t, 3, config)
	for _, victim := range []int{2, 0} {
		j.await(j.latest() + 5)
		other := (victim + 1) % 3
		two := j.said(other, "formed: [worker:")
		network.Pull(victim, true)
		noticed := j.awaitSaid(other, fmt.Sprintf("lost worker:%d (", victim), 0, networkDeadline+2*time.Second)
		on := j.awaitSaid(other, "formed: [worker:", two, 5*time.Second)
		at := j.stepOf(other)
		j.await(at + 10)
		require.LessOrEqual(t, j.stepOf(victim), at+1, "the one that was cut off does not train by itself")
		three := j.said(other, "formed: [worker:0 worker:1 worker:2]")
		network.Pull(victim, false)
		back := j.awaitSaid(other, "formed: [worker:0 worker:1 worker:2]", three, 15*time.Second)
		t.Logf("link of %d: noticed after %v, the others together %v later; taken back %v after it was back", victim, noticed.Round(time.Millisecond), on.Round(time.Millisecond), back.Round(time.Millisecond))
	}
	requireUnbroken(t, onLoopback(t, 3, config), j.end(), false)
	for step := 1; step <= config.Epochs*chaosSteps; step++ {
		require.Contains(t, j.steps, step, "told by nobody")
	}
}

// A network that falls apart: the part with a majority goes on, the other waits and comes back. It does not train a
// model of its own.
func TestNetworkPartition(t *testing.T) {
	for _, minority := range [][]int{{0}, {2}, {1, 2}} {
		least := 2
		if len(minority) == 2 {
			least = 1 // below a majority: both go on, and meet again
		}
		t.Run(fmt.Sprint(minority, " of 3, at least ", least), func(t *testing.T) {
			config := chaosConfig{Elastic: &distribute.Elastic{Min: least, Patience: 200 * time.Millisecond}, Deadline: networkDeadline, Epochs: partedEpochs}
			network, j := apart(t, 3, config)
			j.await(5)
			others := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return slices.Contains(minority, i) })
			network.Part(minority...)
			before, first := j.stepOf(minority[0]), j.said(others[0], "formed")
			j.awaitSaid(others[0], "formed", first, networkDeadline+5*time.Second)
			j.await(before + 20)
			if least == 2 {
				require.LessOrEqual(t, j.stepOf(minority[0]), before+3, "the smaller part trains by itself")
				require.Equal(t, 1, j.said(minority[0], "formed"))
			} else {
				j.awaitSaid(minority[0], "formed", 1, 5*time.Second)
			}
			three := j.said(others[0], "formed: [worker:0 worker:1 worker:2]")
			network.Part()
			t.Logf("whole again %v after the network was", j.awaitSaid(others[0], "formed: [worker:0 worker:1 worker:2]", three, 15*time.Second).Round(time.Millisecond))
			requireUnbroken(t, onLoopback(t, 3, config), j.end(), false)
		})
	}
}

// A link that works one way only is a broken one: one of the two workers at its ends goes, and comes back when it is
// whole.
func TestNetworkOneWay(t *testing.T) {
	config := chaosConfig{Elastic: &distribute.Elastic{Min: 2, Patience: 200 * time.Millisecond}, Deadline: networkDeadline, Epochs: partedEpochs}
	network, j := apart(t, 3, config)
	j.await(5)
	began := time.Now()
	network.Set(1, 0, namespaces.Link{Down: true})
	j.awaitSaid(2, "lost worker:", 0, 2*networkDeadline+2*time.Second)
	t.Logf("noticed after %v", time.Since(began).Round(time.Millisecond))
	j.awaitSaid(2, "formed", 1, 8*time.Second)
	at, then := j.latest(), time.Now()
	j.await(at + 50)
	t.Logf("50 steps by two in %v, %d groups", time.Since(then).Round(time.Millisecond), j.said(2, "formed"))
	three := j.said(2, "formed: [worker:0 worker:1 worker:2]")
	network.Set(1, 0, namespaces.Link{})
	t.Logf("whole again %v after the link was", j.awaitSaid(2, "formed: [worker:0 worker:1 worker:2]", three, 15*time.Second).Round(time.Millisecond))
	requireUnbroken(t, onLoopback(t, 3, config), j.end(), false)
}
