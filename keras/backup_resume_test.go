package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// A run that continues from a backup in the middle of an epoch ends with the bits of an uninterrupted run: data in a
// new order each epoch, dropout, and every batch trained on once. The logs of the epoch cover all of its batches.
func TestBackupInTheMiddleOfAnEpoch(t *testing.T) {
	for name, options := range map[string][]keras.FitOption{
		"all": nil, "steps of an epoch": {keras.StepsPerEpoch(3), keras.Epochs(5)}, "more steps than batches in memory": {keras.StepsPerEpoch(4)},
	} {
		t.Run(name, func(t *testing.T) { backupInTheMiddle(t, options, name == "all") })
	}
}

func backupInTheMiddle(t *testing.T, options []keras.FitOption, all bool) {
	train := func(list ...callbacks.Callback) ([]kernels.Array, map[string][]float64, []float64, error) {
		m := sequential(t, []keras.Option{distribute.Scope(tfStrategy(t, "Mirrored", 2)), keras.Seed(8)},
			&layers.Dense{Units: 6, Activation: "relu"}, &layers.Dropout{Rate: 0.3}, &layers.Dense{Units: 1})
		compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: "mse"})
		x, y := line(20)
		b := &batchNumbers{}
		o := append([]keras.FitOption{keras.BatchSize(4), keras.Epochs(3), keras.Callbacks(append(list, b)...)}, options...)
		h, err := m.Fit(context.Background(), data.Arrays(x, y), o...)
		if err != nil {
			return nil, nil, b.end, err
		}
		w, err := m.GetWeights()
		return w, h.Logs, b.end, err
	}
	want, history, _, err := train()
	require.NoError(t, err)
	for _, at := range []struct {
		epoch, batch int
		rest         []float64 // batches after resuming
	}{
		{1, 2, []float64{1, 2, 3, 4, 0, 1, 2, 3, 4}}, // backups after every 3 batches: the last after batch 0 of epoch 1
		{1, 4, []float64{4, 0, 1, 2, 3, 4}},
		{2, -1, nil}, // after the very last batch
	} {
		dir := t.TempDir()
		backup := func() callbacks.Callback { return &callbacks.BackupAndRestore{BackupDir: dir, SaveFreq: 3} }
		if !all && at.batch > 0 {
			at.batch = 0 // an epoch has the rest of the pass over the data
		}
		_, _, _, err := train(backup(), &interrupter{epoch: at.epoch, batch: at.batch})
		require.ErrorIs(t, err, errBoom)
		got, rest, batches, err := train(backup())
		require.NoError(t, err)
		if all {
			require.Equal(t, at.rest, batches)
		}
		require.Equal(t, want, got)
		require.Equal(t, history, rest, "with the epochs before")
	}
}
