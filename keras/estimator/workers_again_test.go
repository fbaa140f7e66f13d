package estimator_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras/estimator"
)

// leaves is a hook that leaves the group after a step.
type leaves struct {
	estimator.HookBase
	s  *distribute.MultiWorkerMirroredStrategy
	at int64
}

func (h *leaves) AfterRun(_ *estimator.RunContext, v *estimator.RunValues) error {
	if v.GlobalStep == h.at {
		return h.s.Close()
	}
	return nil
}

// TestStepsOfANewcomer: a worker that replaces a lost one trains up to the step at which the others end, instead of
// making the given number of steps from the checkpoint at which it joined. So does a new chief.
func TestStepsOfANewcomer(t *testing.T) {
	for victim := range 2 {
		dir, addresses := t.TempDir(), []string{}
		for range 2 {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addresses = append(addresses, l.Addr().String())
			require.NoError(t, l.Close())
		}
		spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		train := func(rank int, at int64) error {
			s, err := multiworker.NewStrategy(ctx, multiworker.Options{Devices: []string{"cpu:0"}, Elastic: &distribute.Elastic{}, JoinTimeout: 20 * time.Second,
				Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: rank}}})
			if err != nil {
				return err
			}
			defer s.Close()
			p := aProgram()
			e, err := estimator.New(p.model, estimator.RunConfig{TrainDistribute: s, ModelDir: dir, SaveCheckpointsSteps: 4}, nil)
			if err != nil {
				return err
			}
			return e.Train(ctx, p.input, estimator.Steps(10), estimator.Hooks(&leaves{s: s, at: at}))
		}
		ended := make(chan error, 2)
		go func() {
			ended <- train(1-victim, 0)
		}()
		go func() {
			if err := train(victim, 6); err == nil {
				ended <- errors.New("the victim has not left")
				return
			}
			ended <- train(victim, 0)
		}()
		for range 2 {
			require.NoError(t, <-ended)
		}
		checkpoint, err := estimator.LatestCheckpoint(dir)
		require.NoError(t, err)
		require.Contains(t, checkpoint, "model.ckpt-10")
	}
}
