package callbacks_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// A run that was killed and goes on ends with the same bits as one that was not.
func TestBackupAndRestoreInFit(t *testing.T) {
	fresh := func() *keras.Model { return mlp(t, &optimizers.Adam{LearningRate: 0.01}) }
	run := func(m *keras.Model, list ...callbacks.Callback) (*keras.History, error) {
		return m.Fit(t.Context(), examples(50), keras.Epochs(6), keras.BatchSize(8), keras.ProgressOutput(io.Discard), keras.Callbacks(list...))
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
		if double {
			// The latest backup is damaged: the one before it serves.
			require.NoError(t, os.Truncate(filepath.Join(dir, "latest.weights.npz"), 100))
		}
		resumed := fresh()
		history, err := run(resumed, backup)
		require.NoError(t, err)
		require.Equal(t, unbroken.Epoch, history.Epoch, "the history has the epochs before too")
		require.Equal(t, unbroken.Logs, history.Logs)
		require.Equal(t, unbroken.String(), history.String())
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
	// A finished run continues with nothing.
	m := mlp(t, &optimizers.Adam{})
	history, err := m.Fit(t.Context(), examples(8), keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: dir}))
	require.NoError(t, err)
	require.Equal(t, []int{0}, history.Epoch, "what was trained before")
}

// What callbacks remember continues with a run: early stopping waits on where it was, though it is newer than the
// backup in the list.
func TestBackupKeepsWhatCallbacksRemember(t *testing.T) {
	run := func(dir string, crash int) (*keras.History, error) {
		stop := &callbacks.EarlyStopping{Monitor: "loss", Patience: 4, MinDelta: 100}
		return mlp(t, &optimizers.Adam{LearningRate: 0.01}).Fit(t.Context(), examples(50), keras.Epochs(30), keras.ProgressOutput(io.Discard), keras.Callbacks(
			&callbacks.BackupAndRestore{BackupDir: dir}, stop,
			&callbacks.LambdaCallback{EpochBegin: func(epoch int) error {
				if epoch == crash {
					return errors.New("killed")
				}
				return nil
			}}))
	}
	want, err := run(t.TempDir(), -1)
	require.NoError(t, err)
	require.Less(t, len(want.Epoch), 10)
	dir := t.TempDir()
	_, err = run(dir, 3)
	require.ErrorContains(t, err, "killed")
	got, err := run(dir, -1)
	require.NoError(t, err)
	require.Equal(t, want.Logs, got.Logs)
}

// A backup of a run on other batches or data is reported; in the middle of an epoch it is refused.
func TestBackupOfAnotherRun(t *testing.T) {
	killed := errors.New("killed")
	for _, c := range []struct {
		name, text string
		n, batch   int
		scale      float32
	}{
		{"batch", "made by a run on 40 examples in batches of 8, 5 steps an epoch, and this one is on 40 examples in batches of 10, 4 steps an epoch", 40, 10, 1},
		{"size", "and this one is on 48 examples in batches of 8, 6 steps an epoch", 48, 8, 1},
		{"data", "made by a run on other data than this one, though they are as many", 40, 8, 2},
		{"same", "", 40, 8, 1},
	} {
		for frequency, fails := range map[int]bool{0: false, 7: true} {
			dir := t.TempDir()
			var out bytes.Buffer
			run := func(n, batch int, scale float32, crash bool) error {
				x, y := make([][]float32, n), make([][]float32, n)
				for i := range x {
					x[i], y[i] = []float32{scale * float32(i) / 10, 1}, []float32{float32(i % 3)}
				}
				m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(2))
				require.NoError(t, err)
				require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{}, Loss: "mse"}))
				_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(batch), keras.Epochs(3), keras.ProgressOutput(&out), keras.Callbacks(
					&callbacks.BackupAndRestore{BackupDir: dir, SaveFreq: frequency}, &callbacks.LambdaCallback{EpochBegin: func(epoch int) error {
						if crash && epoch == 2 {
							return killed
						}
						return nil
					}}))
				return err
			}
			require.ErrorIs(t, run(40, 8, 1, true), killed)
			require.Empty(t, out.String())
			err := run(c.n, c.batch, c.scale, false)
			switch {
			case fails && c.text != "":
				require.ErrorContains(t, err, c.text, c.name)
				require.ErrorContains(t, err, "or remove the backup")
			default:
				require.NoError(t, err, c.name)
				require.Contains(t, out.String(), c.text)
				require.Equal(t, c.text == "", out.Len() == 0)
			}
		}
	}
}

// A run that continues from a backup which has all its epochs says that it trains nothing; one that has some left does
// not.
func TestBackupOfAFinishedRun(t *testing.T) {
	dir := t.TempDir()
	killed := errors.New("killed")
	run := func(epochs, verbose int, crashAt int) (string, *keras.History, error) {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(1))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{}, Loss: "mse"}))
		var out bytes.Buffer
		h, err := m.Fit(t.Context(), data.Arrays([][]float32{{1}, {2}}, [][]float32{{1}, {2}}), keras.Epochs(epochs), keras.Verbose(verbose), keras.ProgressOutput(&out), keras.Callbacks(
			&callbacks.BackupAndRestore{BackupDir: dir, KeepCheckpoint: true}, &callbacks.LambdaCallback{EpochBegin: func(epoch int) error {
				if epoch == crashAt {
					return killed
				}
				return nil
			}}))
		return out.String(), h, err
	}
	const done = "Nothing is trained: 3 epochs are done already, and this run ends after"
	_, _, err := run(5, 0, 3)
	require.ErrorIs(t, err, killed)
	for _, epochs := range []int{2, 3} {
		out, _, err := run(epochs, 2, -1)
		require.NoError(t, err)
		require.Contains(t, out, fmt.Sprintf("%s %d;", done, epochs))
		out, _, err = run(epochs, 0, -1)
		require.NoError(t, err)
		require.Empty(t, out)
	}
	out, h, err := run(4, 2, -1)
	require.NoError(t, err)
	require.NotContains(t, out, "Nothing is trained")
	require.Len(t, h.Epoch, 4)
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
