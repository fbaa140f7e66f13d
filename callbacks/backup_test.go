package callbacks_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// A run that was killed and goes on ends with the same bits as one that was not.
func TestBackupAndRestoreInFit(t *testing.T) {
	fresh := func() *keras.Model { return mlp(t, &optimizers.Adam{LearningRate: 0.01}) }
	run := func(m *keras.Model, list ...callbacks.Callback) (*keras.History, error) {
		return m.Fit(t.Context(), examples(50), keras.Epochs(6), keras.BatchSize(8), keras.Output(io.Discard), keras.Callbacks(list...))
	}
	whole := fresh()
	unbroken, err := run(whole)
	require.NoError(t, err)
	for _, double := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "backup")
		backup := &callbacks.BackupAndRestore{BackupDir: dir, DoubleCheckpoint: double}
		killed := errors.New("killed")
		at := 0
		_, err = run(fresh(), backup, &callbacks.LambdaCallback{
			EpochBegin: func(epoch int) error { at = epoch; return nil },
			TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
				if at == 3 && batch == 4 {
					return killed
				}
				return nil
			},
		})
		require.ErrorIs(t, err, killed)
		require.FileExists(t, filepath.Join(dir, "latest.weights.npz"), "a run that fails keeps its backup")
		first := 3
		if double {
			// The latest backup is damaged: the one before it serves.
			require.NoError(t, os.Truncate(filepath.Join(dir, "latest.weights.npz"), 100))
			first = 2
		}
		resumed := fresh()
		history, err := run(resumed, backup)
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}[first:], history.Epoch)
		require.Equal(t, unbroken.Logs["loss"][first:], history.Logs["loss"])
		require.Equal(t, weights(t, whole), weights(t, resumed))
		require.NoDirExists(t, dir, "a run that ends well removes its backup")
	}
}

func TestBackupOfAnotherModelIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := mlp(t, &optimizers.Adam{}).Fit(t.Context(), examples(8), keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: dir, KeepCheckpoint: true}))
	require.NoError(t, err)
	for _, m := range []*keras.Model{zeroModel(t, 1), mlp(t, &optimizers.SGD{})} {
		before := weights(t, m)
		x := examples(8)
		if len(before) == 2 {
			x = zeros(8)
		}
		_, err = m.Fit(t.Context(), x, keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: dir}))
		require.ErrorContains(t, err, "expected a backup of the same model")
		require.Equal(t, before, weights(t, m), "nothing was changed")
	}
	// A finished run goes on with nothing.
	m := mlp(t, &optimizers.Adam{})
	history, err := m.Fit(t.Context(), examples(8), keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: dir}))
	require.NoError(t, err)
	require.Empty(t, history.Epoch)
}

// Callbacks leave no goroutine behind, whichever way a run ends.
func TestNoGoroutineIsLeft(t *testing.T) {
	server := listen(t, nil)
	run := func(failing bool) {
		m := mlp(t, &optimizers.SGD{})
		list := []callbacks.Callback{
			&callbacks.CSVLogger{Filename: filepath.Join(t.TempDir(), "log.csv")},
			&callbacks.BackupAndRestore{BackupDir: filepath.Join(t.TempDir(), "backup")},
			&callbacks.RemoteMonitor{Root: server},
			&callbacks.ModelCheckpoint{FilePath: filepath.Join(t.TempDir(), "{epoch}.weights.npz"), SaveWeightsOnly: true},
		}
		if failing {
			list = append(list, &callbacks.LambdaCallback{EpochEnd: func(int, *callbacks.Logs) error { return errors.New("boom") }})
		}
		_, err := m.Fit(t.Context(), examples(20), keras.Epochs(2), keras.ValidationSplit(0.2), keras.Callbacks(list...))
		require.Equal(t, failing, err != nil)
	}
	run(false) // starts what stays: the workers of the device
	// The server's side of a connection ends a moment after ours.
	settled := func(most int) int {
		n := runtime.NumGoroutine()
		for range 200 {
			if n <= most {
				break
			}
			time.Sleep(10 * time.Millisecond)
			n = runtime.NumGoroutine()
		}
		return n
	}
	before := settled(3) // the test, its parent, and the server
	for i := range 5 {
		run(i%2 == 0)
	}
	if now := settled(before); now > before {
		stacks := make([]byte, 1<<20)
		t.Fatalf("%d goroutines before, %d after:\n%s", before, now, stacks[:runtime.Stack(stacks, true)])
	}
}
