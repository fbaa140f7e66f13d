package keras

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
)

// A Fit of one process has neither other workers nor a recovery, so it must call none of their methods, which would
// fail.
func TestOneProcessHasNoRecovery(t *testing.T) {
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	for _, strategy := range []distribute.Strategy{distribute.Default(), s} {
		m, err := recoveryModel(strategy)
		require.NoError(t, err)
		batches := 0
		_, err = m.Fit(context.Background(), recoveryData(12), BatchSize(6), ValidationData(recoveryData(5)), Callbacks(&callbacks.LambdaCallback{
			TrainBatchEnd: func(int, *callbacks.Logs) error {
				batches++
				require.Nil(t, m.lastRun().fit.workers)
				require.Nil(t, m.lastRun().fit.recovery)
				return nil
			},
		}))
		require.NoError(t, err)
		require.Equal(t, 2, batches)
		require.Nil(t, m.lastRun().recovery)
	}
	require.Panics(t, func() { _ = (*recoverer)(nil).boundary(context.Background()) })
}

// A model reports on the last run until the next one begins. It keeps neither the run's data nor its trainer.
func TestRunsFollowEachOther(t *testing.T) {
	m, err := recoveryModel(distribute.Default())
	require.NoError(t, err)
	m.Stop() // nobody trains
	require.Nil(t, m.History())
	require.Zero(t, m.Progress())
	var fit, evaluate bytes.Buffer
	first, err := m.Fit(context.Background(), recoveryData(12), BatchSize(6), Epochs(2), Verbose(2), ProgressOutput(&fit))
	require.NoError(t, err)
	require.Len(t, first.Epoch, 2, "a stop from before is none of this run")
	require.Same(t, first, m.History())
	require.Equal(t, callbacks.Progress{Epoch: 2}, m.Progress())
	require.Same(t, &fit, m.Output())
	require.Nil(t, m.lastRun().fit)

	_, err = m.Evaluate(context.Background(), recoveryData(5), Verbose(2), ProgressOutput(&evaluate))
	require.NoError(t, err)
	require.Same(t, &evaluate, m.Output())
	require.Same(t, first, m.History(), "that of the last Fit")
	require.Equal(t, callbacks.Progress{Epoch: 2}, m.Progress())

	m.SetInitialEpoch(1) // no Fit is about to begin
	second, err := m.Fit(context.Background(), recoveryData(12), BatchSize(6), Epochs(2))
	require.NoError(t, err)
	require.Len(t, second.Epoch, 2)
	require.Same(t, second, m.History())
}
