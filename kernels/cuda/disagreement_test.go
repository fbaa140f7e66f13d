//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/layers"
)

// fakeWorkers runs workers of this process, with one fake device each, that meet through the real group.
func fakeWorkers(t *testing.T, n int, o multiworker.Options, work func(rank int, s *distribute.MultiWorkerMirroredStrategy) error) []error {
	return fakeWorkersOn(t, n, o, func(rank int) []string { return []string{fmt.Sprint("fakecuda:", rank)} }, work)
}

// fakeWorkersOn is fakeWorkers with devices of its own.
func fakeWorkersOn(t *testing.T, n int, o multiworker.Options, devices func(rank int) []string, work func(rank int, s *distribute.MultiWorkerMirroredStrategy) error) []error {
	var addresses []string
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	return each(n, func(rank int) error {
		o := o
		o.Resolver = &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: rank}}
		o.Listener, o.Devices = listeners[rank], devices(rank)
		s, err := multiworker.NewStrategy(t.Context(), o)
		if err != nil {
			return err
		}
		return errors.Join(work(rank, s), s.Close())
	})
}

// Workers whose models differ get one error that names both, with their devices and the layer, at once, also where
// workers may come and go: their devices would wait for each other.
func TestWorkersDisagree(t *testing.T) {
	fakes()
	x, y := digits()
	for name, elastic := range map[string]*distribute.Elastic{"fixed": nil, "elastic": {}} {
		t.Run(name, func(t *testing.T) {
			o := multiworker.Options{Elastic: elastic, Communication: collective.CommunicationOptions{Implementation: collective.NCCL, Timeout: 20 * time.Second}}
			for rank, err := range fakeWorkers(t, 2, o, func(rank int, s *distribute.MultiWorkerMirroredStrategy) error {
				m, err := keras.NewSequential([]layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 3, Activation: []string{"relu", "tanh"}[rank]}}, distribute.Scope(s), keras.Seed(3), keras.InputShape(8, 8, 1))
				if err != nil {
					return err
				}
				if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "sparse_categorical_crossentropy"}); err != nil {
					return err
				}
				_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4))
				return err
			}) {
				assert.ErrorContains(t, err, "workers disagree about", "worker %d", rank)
				assert.Regexp(t, `worker:0 \(127\.0\.0\.1:\d+\) calls .*, but worker:1 \(127\.0\.0\.1:\d+\) calls `, err.Error(), "worker %d", rank)
				for i, activation := range []string{"relu", "tanh"} { // who, on what, made where, and the layer
					assert.Regexp(t, fmt.Sprintf(`worker %d \(fakecuda:%d, strategy made at cuda/disagreement_test.go:\d+\) has %s of float32\[2 3\] in "sequential/dense"`, i, i, activation), err.Error(), "worker %d", rank)
				}
			}
		})
	}
}

// A connection that breaks without a word about who is gone is asked about: the calls get what the answer is.
func TestNCCLBroken(t *testing.T) {
	processes := newProcesses(2)
	members := newMembers(processes, 1, 1)
	for i := range members {
		members[i].options.Broken = func(err error) error { return fmt.Errorf("asked of %d: %w", i, err) }
	}
	all := crews(t, members, 1, 1)
	processes[1].library.Die()
	go func() {
		hanging(t, processes[0], 1)
		processes[0].library.Break(nccl.RemoteError)
	}()
	err := all[0].step()[0]
	require.ErrorContains(t, err, "asked of 0: ")
	require.ErrorContains(t, err, "remote process exited")
	all[1].comms[0].Abort(errors.New("gone"))
	weighs(t, all[:1], 0, 2)
	closeAll(all)
}
