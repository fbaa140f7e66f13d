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

// A run that goes on from a backup in the middle of an epoch ends with the bits of one that was not interrupted: data in a new order each
// epoch, dropout, and all batches trained on once.
func TestBackupInTheMiddleOfAnEpoch(t *testing.T) {
	train := func(list ...callbacks.Callback) ([]kernels.Array, []float64, error) {
		m := sequential(t, []keras.Option{distribute.Scope(tfStrategy(t, "Mirrored", 2)), keras.Seed(8)},
			&layers.Dense{Units: 6, Activation: "relu"}, &layers.Dropout{Rate: 0.3}, &layers.Dense{Units: 1})
		compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: "mse"})
		x, y := line(20)
		b := &batchNumbers{}
		_, err := m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(3), keras.Callbacks(append(list, b)...))
		if err != nil {
			return nil, b.end, err
		}
		w, err := m.WeightArrays()
		return w, b.end, err
	}
	want, _, err := train()
	require.NoError(t, err)
	for _, at := range []struct {
		epoch, batch int
		rest         []float64 // batches after going on
	}{
		{1, 2, []float64{1, 2, 3, 4, 0, 1, 2, 3, 4}}, // backups after every 3 batches: the last after batch 0 of epoch 1
		{1, 3, []float64{4, 0, 1, 2, 3, 4}},
		{2, 4, nil}, // after the very last batch
	} {
		dir := t.TempDir()
		backup := func() callbacks.Callback { return &callbacks.BackupAndRestore{BackupDir: dir, SaveFreq: 3} }
		_, _, err := train(backup(), &interrupter{epoch: at.epoch, batch: at.batch})
		require.ErrorIs(t, err, errBoom)
		got, batches, err := train(backup())
		require.NoError(t, err)
		require.Equal(t, at.rest, batches)
		require.Equal(t, want, got)
	}
}
