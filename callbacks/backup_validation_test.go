package callbacks_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// TestBackupDuringValidation: a run that is stopped in the validation of an epoch goes on with the loss and the metrics
// of its training, although the validation uses the same variables.
func TestBackupDuringValidation(t *testing.T) {
	run := func(ctx context.Context, list ...callbacks.Callback) (*keras.History, error) {
		m := mlp(t, &optimizers.Adam{LearningRate: 0.01})
		return m.Fit(ctx, examples(50), keras.Epochs(4), keras.BatchSize(8), keras.ValidationSplit(0.5), keras.ProgressOutput(io.Discard), keras.Callbacks(list...))
	}
	whole, err := run(t.Context())
	require.NoError(t, err)
	for _, at := range []int{0, 2} { // the batch of the validation in which the run stops
		backup := &callbacks.BackupAndRestore{BackupDir: filepath.Join(t.TempDir(), "backup")}
		ctx, stop := context.WithCancel(t.Context())
		epoch := 0
		_, err = run(ctx, backup, &callbacks.LambdaCallback{
			EpochBegin: func(e int) error { epoch = e; return nil },
			TestBatchEnd: func(batch int, _ *callbacks.Logs) error {
				if epoch == 2 && batch == at {
					stop()
				}
				return nil
			},
		})
		require.ErrorIs(t, err, context.Canceled)
		history, err := run(t.Context(), backup)
		require.NoError(t, err)
		require.Equal(t, whole.Logs, history.Logs)
	}
}
