package callbacks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/internal/tensorboard"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

var errKilled = errors.New("killed")

// restartRun is what a run leaves.
type restartRun struct {
	Weights any
	Logs    map[string][]float64
	Epochs  []int
	CSV     string
	Added   string            // the file of a CSVLogger with Append
	Files   []string          // of ModelCheckpoint
	Events  map[string]string // of TensorBoard: tag and step, and the value
}

// restartable trains with a callback of each kind that remembers something, until crash says that it dies, or with stop
// that it is asked to stop.
func restartable(t *testing.T, dir string, saveFreq int, stop bool, crash func(epoch, batch int) bool) (restartRun, error) {
	t.Helper()
	epoch := 0
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	kill := func(batch int) error {
		if crash(epoch, batch) {
			if cancel(errKilled); stop {
				return nil
			}
			return errKilled
		}
		return nil
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	if _, err := os.Stat(path("added.csv")); err != nil {
		require.NoError(t, os.WriteFile(path("added.csv"), []byte("epoch,of a run before\r\n0,1.0\r\n7,1.0\r\n"), 0o666))
		require.NoError(t, os.WriteFile(path("log.csv"), []byte("what a run before has left\r\n"), 0o666))
	}
	m := mlp(t, &optimizers.Adam{LearningRate: 0.01, Options: optimizers.Options{UseEMA: true, EMAMomentum: new(0.8)}})
	history, err := m.Fit(ctx, examples(50), keras.BatchSize(8), keras.Epochs(8), keras.ProgressOutput(io.Discard), keras.Callbacks(
		&callbacks.BackupAndRestore{BackupDir: path("backup"), SaveFreq: saveFreq},
		&callbacks.LambdaCallback{
			EpochBegin:    func(e int) error { epoch = e; return kill(-1) },
			TrainBatchEnd: func(batch int, _ *callbacks.Logs) error { return kill(batch) },
			EpochEnd: func(e int, logs *callbacks.Logs) error {
				logs.Set("noise", []float64{5, 3, 4, 2, 6, 1, 7, 8}[e])
				return nil
			},
		},
		&callbacks.LearningRateScheduler{Schedule: func(_ int, rate float64) float64 { return 0.9 * rate }},
		&callbacks.ReduceLROnPlateau{Monitor: "noise", Mode: "min", Patience: 1, Factor: 0.5},
		&callbacks.EarlyStopping{Monitor: "noise", Mode: "min", Patience: 2, RestoreBestWeights: true},
		&callbacks.ModelCheckpoint{FilePath: path("{epoch}.weights.npz"), Monitor: "noise", Mode: "min", SaveBestOnly: true, SaveWeightsOnly: true},
		&callbacks.CSVLogger{Filename: path("log.csv")},
		&callbacks.CSVLogger{Filename: path("added.csv"), Append: true},
		&callbacks.TensorBoard{LogDir: path("events"), UpdateFreq: 2, NoGraph: true},
		&callbacks.SwapEMAWeights{SwapOnEpoch: true},
		&callbacks.LambdaCallback{EpochEnd: func(int, *callbacks.Logs) error { return kill(1000) }}, // after the others, before the backup
	))
	if err != nil {
		return restartRun{}, err
	}
	r := restartRun{Weights: weights(t, m), Logs: history.Logs, Epochs: history.Epoch, Events: map[string]string{}}
	for name, to := range map[string]*string{"log.csv": &r.CSV, "added.csv": &r.Added} {
		text, err := os.ReadFile(path(name))
		require.NoError(t, err)
		*to = string(text)
	}
	r.Files, err = filepath.Glob(path("*.weights.npz"))
	require.NoError(t, err)
	for i := range r.Files {
		r.Files[i] = filepath.Base(r.Files[i])
	}
	require.NoError(t, filepath.WalkDir(path("events"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(file, "tfevents") {
			return err
		}
		events, err := tensorboard.ReadFile(file)
		for _, e := range events {
			for _, v := range e.Values {
				r.Events[fmt.Sprint(filepath.Base(filepath.Dir(file)), " ", v.Tag, " ", e.Step)] = fmt.Sprint(v.Floats, v.Doubles)
			}
		}
		return err
	}))
	return r, nil
}

// A job that dies and starts again leaves what an unbroken one leaves: every callback continues with what it remembers
// and with the files that it has written.
func TestCallbacksAfterRestart(t *testing.T) {
	want, err := restartable(t, t.TempDir(), 0, false, func(int, int) bool { return false })
	require.NoError(t, err)
	require.Len(t, want.Epochs, 8, "early stopping ends the run in its last epoch")
	require.Equal(t, []string{"1.weights.npz", "2.weights.npz", "4.weights.npz", "6.weights.npz"}, want.Files)
	require.Equal(t, 9, strings.Count(want.CSV, "\r\n"), want.CSV)
	require.Greater(t, len(want.Events), 20)
	for _, at := range [][2]int{{0, 4}, {1, -1}, {2, 5}, {3, 1000}, {4, -1}, {5, 0}, {6, 1000}} {
		for i := range 4 {
			saveFreq, stop := []int{0, 3}[i%2], i > 1
			t.Run(fmt.Sprintf("SaveFreq %d, epoch %d, batch %d, stopped %v", saveFreq, at[0], at[1], stop), func(t *testing.T) {
				dir := t.TempDir()
				_, err := restartable(t, dir, saveFreq, stop, func(epoch, batch int) bool { return epoch == at[0] && batch == at[1] })
				if require.Error(t, err); stop {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.ErrorIs(t, err, errKilled)
				}
				got, err := restartable(t, dir, saveFreq, false, func(int, int) bool { return false })
				require.NoError(t, err)
				require.Equal(t, want.CSV, got.CSV)
				require.Equal(t, want.Added, got.Added)
				require.Equal(t, want.Logs, got.Logs)
				require.Equal(t, want.Epochs, got.Epochs)
				require.Equal(t, want.Files, got.Files)
				require.Equal(t, want.Weights, got.Weights)
				require.Equal(t, want.Events, got.Events)
			})
		}
	}
}
